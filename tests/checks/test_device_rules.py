"""The device family: the examples of its rules, and inputs that other porters are known to break."""

from __future__ import annotations

import re

import pytest

from porter.analysis.python import analyse
from porter.analysis.session import open_session
from porter.checks.registry import load
from porter.engine.facts import Accelerators, Facts, OwnCode
from porter.engine.launch import Launch
from porter.engine.session import Session
from porter.engine.shimmed import Shimmed
from porter.finding import apply
from porter.rulebook.texts import Texts
from porter.run.gather import gather
from porter.target import Target

CODES = [code for code in Texts().codes() if code.startswith("PRT1")]
SHIMMED = ("PRT150", "PRT151", "PRT152")  # of the style shim alone
OLD = open_session(target=Target(torch_npu="2.1.0"))


def ported(text: str | bytes, session: Session | None = None, *, unsafe: bool = True) -> bytes:
    data = text if isinstance(text, bytes) else text.encode()
    result = analyse("before.py", data, session or open_session())
    assert not [f for f in result.findings if f.code in ("PRT002", "PRT003")]
    return apply(data, result.review if unsafe else result.auto)


def _shimmed() -> Session:
    """The example is a program."""
    known = Accelerators(shimmed=Shimmed(programs=("before.py",)))
    return open_session(target=Target(style="shim"), facts=Facts(accelerators=known))


@pytest.mark.parametrize("code", CODES)
def test_the_example_of_a_rule(code):
    rule = Texts().rule(code)
    session = OLD if code == "PRT133" else _shimmed() if code in SHIMMED else open_session()
    assert code in {f.code for f in analyse("before.py", rule.before.encode(), session).findings}
    after = rule.by_hand if code == "PRT133" else rule.after
    assert ported(rule.before, session).decode() == after


@pytest.mark.parametrize(
    "text",
    [
        "t.to(*args, **kwargs)",
        "x.to(non_blocking=True, device=d)",
        "x.to(next(it))",
        "x.to(pool.acquire())",
        "ok = hasattr(model.module, 'fc')",
        "ok = hasattr(self.model.module, 'x')",
        "def helper(torch): return torch.cuda.is_available()",
        "def cuda(v): return v\n\n\nprint(cuda(3))",
        "class Fake:\n    is_cuda = False\n    CUDA = 'x'\n\n\nprint(Fake.CUDA)",
        "q = 'SELECT cuda: FROM t', 'nvidia/cuda:12.1.0-cudnn8-devel', 'docs/torch.cuda.html'",
        "q = 'https://example.org/cuda:12.1'",
        "a = {'cuda': 1}['cuda'], cfg.get('cuda'), getattr(ns, 'cuda'), dict(cuda=True)",
        "class C:\n    cuda = 'cuda kernels'",
        'def f():\n    """cuda:0 or any torch.cuda device"""',
        "d = torch.device('cpu')",
        "(get_a() if c else get_b())(x)",
        "(fns['a'] if c else fns['b'])(x)",
        "((lambda v: v) if c else f)(x)",
        "parser.add_argument('--cuda', action='store_true')\nif args.cuda:\n    pass",
        "state['cuda_rng'] = 1\nx = state['cuda']",
        "print('cuda', f'cuda:{rank}')\nraise ValueError('cuda')",
        "import torch.cuda\n",
        "x.npu()\nif device.type == 'npu':\n    torch.npu.synchronize()",
    ],
)
def test_left_as_it_is(text):
    data = f"import torch\n\n{text}\n"
    assert ported(data).decode() == data


def test_two_functions_with_the_same_name_for_different_things():
    text = (
        "import torch\n\n\ndef a():\n    fn = torch.cuda.is_available\n    return fn()\n\n\n"
        "def b():\n    fn = len\n    return fn([1])\n\n\ndef c(fn):\n    return fn([1])\n"
    )
    after = text.replace("torch.cuda", "torch.npu").replace(
        "import torch\n", "import torch\nimport torch_npu  # noqa: F401\n"
    )
    assert ported(text).decode() == after


def test_an_import_in_a_function_before_that_of_the_module():
    text = "def setup():\n    import torch\n\n    return torch\n\n\nimport torch\n\ntorch.cuda.synchronize()\n"
    after = ported(text).decode()
    assert after.count("import torch_npu") == 1
    assert "\nimport torch\nimport torch_npu  # noqa: F401\n\ntorch.npu.synchronize()\n" in after


@pytest.mark.parametrize(
    "encoding, head", [("gbk", "# -*- coding: gbk -*-\r\n"), ("utf-8-sig", ""), ("latin-1", "# coding: latin-1\r\n")]
)
def test_encodings_stay(encoding, head):
    word = {"gbk": "设备", "utf-8-sig": "设备", "latin-1": "Gerät"}[encoding]
    data = f"{head}import torch\r\n\r\nx = torch.zeros(1, device='cuda')  # {word}\r\n".encode(encoding)
    after = ported(data)
    assert (
        after.decode(encoding)
        == f"{head}import torch\r\nimport torch_npu  # noqa: F401\r\n\r\nx = torch.zeros(1, device='npu')  # {word}\r\n"
    )
    assert after[:3] == data[:3]


@pytest.mark.slow
@pytest.mark.parametrize("version", ["2.1.0.post17", "2.7.1.post11", "2.14.0"])
def test_a_name_that_the_catalogue_lacks_is_never_written(version):
    session = open_session(target=Target(torch_npu=version))
    for name, move in sorted(load().tables.moves.items()):
        after = ported(f"import torch\n\nx = {name}\n", session).decode()
        for new in re.findall(r"torch\.npu[\w.]*", after):
            assert session.catalogue.has(new), (name, new)
        assert (move.tail is None) == (f"x = {name}\n" in after) or not session.catalogue.has(f"torch.npu.{move.tail}")


def test_a_call_that_the_target_lacks_keeps_its_keywords():
    text = "import torch\n\ntorch.cuda.nvtx.range_push(msg='step')\n"
    assert "torch.npu.mstx.range_push(message='step')" in ported(text).decode()
    assert ported(text, OLD).decode() == text
    found = analyse("a.py", text.encode(), OLD).findings
    assert [(f.code, f.why) for f in found] == [("PRT104", "absent")]


def test_keywords_follow_the_version():
    text = "import torch\n\nok = torch.cuda.is_bf16_supported(including_emulation=False)\n"
    codes = {
        version: {
            f.code for f in analyse("a.py", text.encode(), open_session(target=Target(torch_npu=version))).findings
        }
        for version in ("2.6.0.post5", "2.7.1.post11")
    }
    assert "PRT107" in codes["2.6.0.post5"] and "PRT107" not in codes["2.7.1.post11"]


def test_an_integer_is_named_only_where_it_means_cuda():
    text = "import torch\n\nx = torch.zeros(1).to(0)\n"
    assert ported(text).decode() == text
    assert b'.to("npu:0")' in ported(text, OLD)


@pytest.mark.parametrize("old, status", [("cuda", "review"), ("cuda:1", "auto")])
def test_a_default_that_a_script_passes_is_for_review(old, status):
    facts = Facts(launch=Launch(passed=(("--device", "cuda", "train.sh"),)))
    text = f"import argparse\n\np = argparse.ArgumentParser()\np.add_argument('--device', default='{old}')\n"
    result = analyse("before.py", text.encode(), open_session(facts=facts))
    assert [(f.code, f.status) for f in result.findings] == [("PRT123", status)]
    assert ("script", "train.sh") in result.findings[0].values or status == "auto"


@pytest.mark.parametrize(
    "call, status",
    [
        ("torch.cuda.get_device_properties({}).major", "review"),
        ("torch.cuda.get_device_capability(int({}))", "review"),
        ("torch.cuda.get_device_properties({}).total_memory", "auto"),
        ("torch.cuda.get_device_name({})", "auto"),
    ],
)
def test_the_argument_of_a_call_that_stays_waits_for_it(call, status):
    text = f"import torch\n\nanswer = {call.format('torch.cuda.current_device()')}\n"
    found = analyse("before.py", text.encode(), open_session()).findings
    assert [f.status for f in found if ("name", "torch.cuda.current_device") in f.values] == [status]


def test_a_class_gains_the_method_and_keeps_the_old_name():
    text = "class A:\n    def cuda(self):\n        return self\n\n    x = 1\n"
    scope: dict = {}
    exec(ported(text, open_session(facts=Facts(own=OwnCode(cuda=("before.py:A",))))), scope)
    made = scope["A"]()
    assert made.npu() is made.cuda() is made and scope["A"].x == 1
    assert scope["A"].cuda is scope["A"].npu


def test_a_file_among_those_of_other_accelerators_is_for_review(tmp_path) -> None:
    """cuda.py beside mps.py is what GPUs have: NPUs want a file of their own, and this one may be meant to stay."""
    files = ["devices/cuda.py", "devices/mps.py", "kernels/cuda.py", "kernels/cpu.py"]
    source = b'import torch\n\nROOT = torch.device("cuda")\n'
    for name in files:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(source)
    about = open_session(facts=gather(tmp_path, files))
    assert about.facts.accelerators.rivals == ("devices/cuda.py",)
    assert not analyse("devices/cuda.py", source, about).auto and analyse("devices/cuda.py", source, about).review
    assert analyse("kernels/cuda.py", source, about).auto


def test_the_peak_of_a_gpu_in_a_test_is_an_example() -> None:
    source = b"import torch\n\npeak_flops = 312e12\n"
    assert [f.code for f in analyse("train.py", source, open_session()).findings] == ["PRT143"]
    assert not analyse("tests/test_flops.py", source, open_session()).findings


BY_KERAS = """import torch
from keras import config

DEVICE = "cpu"
if torch.cuda.is_available():
    DEVICE = config.chosen("cuda")


def matmul(x, device):
    if device == "cuda":
        x = config.floatx()
    return x.to(device)
"""


@pytest.mark.parametrize(
    ("path", "statuses"), [("train.py", ["manual", "manual"]), ("keras/src/torch/numpy.py", ["auto", "auto"])]
)
def test_a_file_of_the_library_itself_asks_for_nobody_else(path, statuses) -> None:
    found = analyse(path, BY_KERAS.encode(), open_session()).findings
    assert [f.status for f in found if f.line in (5, 10)] == statuses


@pytest.mark.slow
def test_a_long_list_of_words_is_no_device() -> None:
    """It is longer than what LibCST is given, and nothing in it is anything to port."""
    words = b"import torch\nFISH = [" + b"{'name': 'barracuda.n.01'}, " * 10_000 + b"]\n"
    assert not analyse("fish.py", words, open_session()).findings


_RETURNS = b"""
import torch


def test_run(attention, run):
    gpu = torch.cuda.device_count() > 0
    if not gpu and attention is not None:
        print("Skipping test: xformers does not run on CPU")
        return
    run(attention, "cuda:0" if gpu else "cpu")
"""


@pytest.mark.parametrize(
    ("path", "source", "whys"),
    [
        ("tests/test_run.py", _RETURNS, ["stops"]),
        ("tests/test_run.py", _RETURNS.replace(b"xformers", b"a kernel"), ["default"]),
        ("run.py", _RETURNS, ["default"]),  # the name decides about all of a program
    ],
)
def test_a_test_that_prints_which_package_it_needs(path: str, source: bytes, whys: list[str]) -> None:
    assert [f.why for f in analyse(path, source, open_session()).findings if f.code == "PRT101"] == whys
