"""What people and programs see of profiles: text, JSON, a page; in two languages, and whatever the names are."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from command_line import Porter, write
from profiles_world import API, KERNEL, OPERATOR, STEP, event, kernel, step, table, trace

from porter.profiles.document import document
from porter.profiles.find import read_run
from porter.profiles.kinds import KINDS
from porter.profiles.show import fragment, lines, page
from porter.profiles.signs import ABOUT
from porter.rulebook.words import words
from porter.terminal import plain

OUTPUT = "ASCEND_PROFILER_OUTPUT"
HAN = re.compile(r"[\u4e00-\u9fff]")
EVIL = "</td><script>alert(1)</script>\x1b[31m"


@pytest.fixture
def porter(monkeypatch, tmp_path):
    (tmp_path / "work").mkdir()
    return Porter(monkeypatch, tmp_path / "work")


def profiled(folder: Path) -> Path:
    table(folder / OUTPUT, "step_trace_time.csv", STEP, [step(1, 600, 50, 350)])
    kernels = [
        kernel(1, "MatMul1", "MatMulV2", "AI_CORE", 400, "64,64;64,64", wait=5),
        kernel(1, "Cast1", "Cast", "AI_CPU", 100, "8"),
        kernel(1, EVIL, EVIL, "AI_VECTOR_CORE", 20, "8"),
    ]
    table(folder / OUTPUT, "kernel_details.csv", KERNEL, kernels)
    table(
        folder / OUTPUT, "api_statistic.csv", API, [{"API Name": "aclrtSynchronizeStream", "Time(us)": 9, "Count": 2}]
    )
    op = {"Name": "aten::item", "Host Self Duration(us)": 4, "Device Self Duration(us)": 100}
    op["Call Stack"] = "/somewhere/repo/train.py(5): step;\r\n/somewhere/repo/train.py(9): main"
    table(folder / OUTPUT, "operator_details.csv", OPERATOR, [op])
    return folder


def gpu(file: Path) -> Path:
    return trace(file, [event("ProfilerStep#1", 0, 500, "user_annotation"), event("gemm", 10, 300, "kernel")])


def test_text_has_the_numbers(porter):
    profiled(porter.folder / "npu")
    gpu(porter.folder / "gpu.json")
    answer = porter("compare", "--profiles", "gpu.json", "npu")
    assert answer.code == 0 and answer.err == ""
    assert "A  gpu.json: GPU, steps profiled: 1" in answer.text and "B  npu: NPU, steps profiled: 1" in answer.text
    assert re.search(r"^  step +0\.500  100\.0 +1\.000  100\.0  \+0\.500$", answer.text, re.M)
    assert re.search(r"^  matmul +1  0\.300 +1  0\.400  \+0\.100$", answer.text, re.M)
    assert "1. The device is free: 35.0 % of the step, 0.350 ms" in answer.text
    assert "the host waits for the device 2 times a step: aclrtSynchronizeStream" in answer.text
    assert "2. Operators on AI CPU: 10.0 % of the step, 0.100 ms" in answer.text
    assert "files: op_statistic.csv, communication.json, trace_view.json" in answer.text
    assert porter("compare", "--profiles", "gpu.json", "npu").out == answer.out


def test_what_cannot_be_compared_is_said(porter):
    profiled(porter.folder / "npu")
    table(porter.folder / "whole" / OUTPUT, "step_trace_time.csv", STEP, [step("", 600, 50, 350)])
    table(porter.folder / "whole" / OUTPUT, "kernel_details.csv", KERNEL, [kernel("", "Cast1", "Cast", "AI_CORE", 20)])
    lead = "A side does not tell its steps apart: whole profiles are compared"
    assert lead in porter("compare", "--profiles", "whole", "npu").text
    assert lead not in porter("compare", "--profiles", "npu", "npu").text


def test_chinese_is_chinese(porter):
    profiled(porter.folder / "npu")
    text = porter("compare", "--profiles", "npu", "--lang", "zh").text
    assert "设备空闲：占单步 35.0 %" in text
    said = [line for line in text.splitlines() if line.strip() and not HAN.search(line)]
    for line in said:  # what has no Chinese is numbers and names of the profile
        assert re.search(r"\d|aten::|AI_|Cast|kernel", line), line


def test_every_key_has_its_words():
    for lang in ("en", "zh"):
        known = words("profiles", lang)
        assert {f"kind.{kind}" for kind in KINDS} <= known.keys()
        for key in ABOUT:
            assert f"next.{key}" in known and f"do.{key}" in known
            assert any(name == f"evidence.{key}" or name.startswith(f"evidence.{key}.") for name in known)


def test_json_and_the_page_say_the_same(porter):
    profiled(porter.folder / "npu")
    answer = porter("compare", "--profiles", "npu", "--format", "json", "-o", "p.html")
    value = json.loads(answer.out)
    assert value["schema"] == 1 and value["compared"] is None
    (side,) = value["profiles"]
    assert side["step"]["time"] == 1000.0
    assert {row["name"]: row["time"] for row in side["cores"]} == {"AI_CORE": 400, "AI_CPU": 100, "AI_VECTOR_CORE": 20}
    assert [sign["sign"] for sign in value["next"]] == ["free", "aicpu", "exposed"]
    html = (porter.folder / "p.html").read_text("utf-8")
    assert html.startswith("<!doctype html>") and "<script" not in html and "\x1b" not in html
    assert "The device is free: 35.0 % of the step" in html


def test_hostile_names_end_nothing(tmp_path):
    value = document([read_run(str(profiled(tmp_path)))], "1", "en")
    text = plain(lines(value, "en"))
    assert "\x1b" not in text
    html = fragment(value, "en")
    assert "<script" not in html and html.count("<section") == html.count("</section>") and html in page(value, "en")


def test_the_code_is_joined_where_it_is_given(porter):
    profiled(porter.folder / "npu")
    source = "import torch\n\n\ndef step(model, x, losses):\n    losses.append(model(x.cuda()).item())\n\n\ndef main(model, loader):\n    for x in loader:\n        step(model, x, [])\n"
    write(porter.folder / "repo", {"train.py": source})
    value = json.loads(porter("compare", "--profiles", "npu", "--repo", "repo", "--format", "json").out)
    (row,) = value["profiles"][0]["torch"]
    (place,) = row["places"]
    assert (place["path"], place["line"], place["function"], place["time"]) == ("train.py", 5, "step", 100.0)
    assert place["codes"]  # what porter finds in this line
    text = porter("compare", "--profiles", "npu", "--repo", "repo").text
    assert re.search(r"aten::item .* train\.py:5 PRT", text)


def test_calls_of_the_same_name_where_the_profile_has_no_stacks(porter):
    table(
        porter.folder / "npu" / OUTPUT, "kernel_details.csv", KERNEL, [kernel(1, "I1", "IndexSelectV2", "AI_CORE", 9)]
    )
    source = "import torch\n\n\ndef pick(x, i):\n    return torch.index_select(x, 0, i).cuda()\n"
    write(porter.folder / "repo", {"pick.py": source})
    text = porter("compare", "--profiles", "npu", "--repo", "repo").text
    assert "IndexSelectV2 (AI_CORE): calls of this name in the repository: pick.py:5 (torch.index_select)" in text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("npu",), "give both, or --profiles for one performance profile"),
        (("--profiles", "absent"), "absent: no such file or directory"),
        (("--profiles", "npu", "--format", "xml"), "--format: 'xml' is none of text, json"),
        (("--profiles", "npu", "-o", "p.doc"), "--output p.doc: the suffix chooses the format"),
        (("--profiles", "empty"), "empty: no profile in it"),
    ],
)
def test_usage(porter, words, message):
    profiled(porter.folder / "npu")
    (porter.folder / "empty").mkdir()
    answer = porter("compare", *words)
    assert answer.code == 2 and answer.out == b"" and message in answer.err and answer.err.count("\n") == 1


def test_ranks_and_linearity_are_shown(porter):
    for folder, times in (("one", [(800, 0)]), ("two", [(700, 300), (900, 100)])):
        for rank, (computing, exposed) in enumerate(times):
            one = porter.folder / folder / f"w{rank}_ascend_pt"
            table(one / OUTPUT, "step_trace_time.csv", STEP, [step(1, computing, exposed, 0)])
            (one / f"profiler_info_{rank}.json").write_text("{}")
    text = porter("compare", "--profiles", "one", "two").text
    assert "B  two: NPU, 2 ranks, steps profiled: 1" in text and "shown: rank 0, whose step is the longest of 2" in text
    assert (
        "1 against 2 cards: 0.800 ms and 1.000 ms. With the same work for each card, 80.0 % of the speed is kept."
        in text
    )
    assert re.search(r"^  1 +1\.000 +0\.900 +0\.100 +0\.000 +0\.900 +-$", text, re.M)
    assert "Ranks are apart: 20.0 % of the step, 0.200 ms" in text
