"""One screen for any repository: what is left cause by cause, the summary last."""

from __future__ import annotations

import json

import pytest
from report_samples import made

from porter.engine.together import paths_of
from porter.terminal import columns, reflowed, wrapped

KERNEL = """
#include <cuda.h>
__global__ void warp_kernel(float* x) { x[0] = 1; }
void warp(at::Tensor x) { warp_kernel<<<1, 1>>>(x.data_ptr<float>()); }
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("warp", &warp, "warps"); }
"""
SETUP = """
from torch.utils.cpp_extension import CUDAExtension
from setuptools import setup
setup(name="w", py_modules=["use"], ext_modules=[CUDAExtension("warping", ["warp.cu"])])
"""
CALLS = "import torch\nimport warping\n\n\ndef one(x):\n    return warping.warp(x)\n\n\ndef two(x):\n    return warping.warp(x)\n"
ATTENTION = "from flash_attn import flash_attn_func\n\n\ndef attend(q):\n    return flash_attn_func(q, q, q)\n"
WAITS = "import torch\n\n\ndef train(loader, model):\n    for x in loader:\n        loss = model(x.cuda())\n        loss.backward()\n        print(loss.item())\n"  # fmt: skip
FILES = {f"part{n}/attention.py": "import torch\n" + ATTENTION for n in range(20)}
FILES |= {f"part{n}/train.py": WAITS for n in range(4)}
FILES |= {f"moves/part{n}.py": "import torch\n\nprint(torch.ones(2).cuda())\n" for n in range(30)}
FILES |= {
    "tests/test_attention.py": "import torch\n" + ATTENTION,
    "warp.cu": KERNEL,
    "setup.py": SETUP,
    "use.py": CALLS,
}
FILES |= {"stale.py": "import torch\nx = 1  # porter: ignore[PRT101] old\n"}


@pytest.fixture
def porter(tmp_path, monkeypatch):
    return made(monkeypatch, tmp_path / "r", FILES)


@pytest.mark.slow
def test_a_package_in_many_files_is_one_cause(porter):
    text = porter("analyze", ".").text
    rows = [line for line in text.splitlines() if "PRT401" in line and "explain" not in line]
    assert rows == ["  part0/attention.py:2:1  PRT401  + 20 places in 20 other files"]
    assert "tests/test_attention.py" not in text, "the project's own code comes first"


@pytest.mark.slow
def test_a_kernel_and_the_calls_that_end_in_it_are_one_cause(porter):
    text = porter("analyze", ".").text
    assert len([line for line in text.splitlines() if line.startswith(("  use.py:", "  warp.cu:"))]) == 1
    assert "no NPU runs the CUDA kernel warp_kernel" in " ".join(text.split())


@pytest.mark.slow
def test_numbers_are_those_of_the_findings(porter):
    found = json.loads(porter("analyze", ".", "--format", "json").out)["findings"]
    due = [f for f in found if not f["optional"]]
    manual = [f for f in due if f["status"] == "manual" and not f["code"].startswith("PRT0")]
    places = {f["fingerprint"]: len(paths_of(f["path"], f["values"])) for f in manual}
    stops = sum(places[f["fingerprint"]] for f in manual if f["severity"] in ("blocker", "wrong"))
    slow = sum(places[f["fingerprint"]] for f in manual if f["severity"] == "slow")
    auto = [f for f in due if f["status"] == "auto"]
    said = " ".join(porter("analyze", ".").text.split())
    assert f"{stops} places where it stops or breaks, {slow} where it gets slow" in said
    assert f"{len(auto)} automatic in {len({f['path'] for f in auto})} files" in said


@pytest.mark.slow
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_it_fits_on_a_screen_and_every_place_is_at_the_beginning_of_its_line(porter, lang):
    lines = porter("analyze", ".", "--lang", lang).text.splitlines()
    assert len(lines) <= 50
    assert all(columns(line) <= 100 for line in lines if " PRT" not in line)
    assert {"porter analyze . -v", "porter migrate . --inplace"} <= {line.rpartition("  ")[2] for line in lines}


@pytest.mark.slow
def test_all_shows_every_place(porter):
    found = json.loads(porter("analyze", ".", "--format", "json").out)["findings"]
    everything = porter("analyze", ".", "--all").text
    assert everything.count("  PRT") == sum(f["severity"] != "note" for f in found) > 30


@pytest.mark.parametrize("width", [20, 40, 80])
def test_lines_break_between_words_alone(width):
    text = "`_C.deform_conv_forward` ends in CUDA code: use `mx_driving.deform_conv2d`, or write it anew in Ascend C"
    lines = wrapped(text, width)
    assert " ".join(lines) == text
    assert all(columns(line) <= width or " " not in line for line in lines)


def test_chinese_breaks_between_characters_and_no_line_begins_with_a_full_stop():
    text = "掩码索引要先查找位置：把掩码扩展到与张量同形后改用 `masked_fill_`，只需一个算子。再读一次"
    lines = wrapped(text, 20)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
    assert all(columns(line) <= 24 and line[0] not in "，。；：、" for line in lines)


def test_what_does_not_fit_is_cut_where_a_word_ends():
    assert wrapped("one two three four five", 9, 2) == ["one two", "three…"]
    assert wrapped("one two", 9, 2) == ["one two"]


def test_a_few_of_what_was_not_read_are_named_and_the_others_counted(tmp_path, monkeypatch):
    broken = {f"old{n}.py": "import torch\nprint 'cuda'\n" for n in range(9)}
    porter = made(monkeypatch, tmp_path / "r", broken)
    for extra, named in ([], 5), (["--all"], 9):
        text = porter("analyze", ".", *extra).text
        assert "Nothing" not in text.replace("Nothing CUDA-dependent found in what was analysed", ""), text
        files = {line.partition(":")[0] for line in text.splitlines() if line.startswith("  old") and "PRT002" in line}
        assert len(files) == named, text
        assert ("  ... 4 more: porter analyze . --all" in text.splitlines()) == (named == 5), text


def test_prose_is_broken_anew_and_what_is_indented_stays():
    text = "one two\nthree four\n\n    code --stays as it is, however long\n\nfive\nsix"
    code = "    code --stays as it is, however long"
    assert reflowed(text, 13) == ["one two three", "four", "", code, "", "five six"]
    assert reflowed(text, 80) == ["one two three four", "", code, "", "five six"]
    assert reflowed("one\n    code\n", 80) == ["one", "    code"] and reflowed("", 80) == []


def test_chinese_lines_are_joined_without_a_space():
    assert reflowed("先查找\n位置，\ntorch 再读\nx 一次", 80) == ["先查找位置，torch 再读 x 一次"]


@pytest.mark.slow
@pytest.mark.parametrize("others", [0, 1])
def test_why_one_place_is_left_alone_is_said_and_what_would_change_it(monkeypatch, tmp_path, others):
    """That a name stays together with that of a file left out: a command that names both files changes them."""
    files = {f"moves{n}.py": "import torch\n\nprint(torch.ones(2).cuda())\n" for n in range(20)}
    for n in range(1 + others):
        files[f"settings{n}.py"] = 'DEVICE = "cuda"\n'
        files[f"out/use{n}.py"] = (
            f'import torch\nfrom settings{n} import DEVICE\n\nif DEVICE == "cuda":\n    torch.ones(2, device=DEVICE)\n'
        )
    porter = made(monkeypatch, tmp_path / "r", files)
    said = " ".join(porter("analyze", ".", "--exclude", "out").text.split())
    assert ("`porter migrate out/use0.py settings0.py` changes them together" in said) == (not others)
    assert "use the NPU here" in said
