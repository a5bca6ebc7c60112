"""The families precision and graphs: the examples of their rules, what other porters break, what is off by default."""

from __future__ import annotations

import json

import pytest
from command_line import Porter, write

from porter.analysis.python import analyse
from porter.analysis.session import open_session
from porter.catalog.read.load import load, versions
from porter.checks.graphs.profiler_use import MOVED
from porter.checks.precision.tf32_switch import SWITCHES
from porter.checks.registry import load as rules
from porter.engine.facts import Facts
from porter.engine.session import Session
from porter.finding import apply
from porter.rulebook.texts import Texts
from porter.target import SOCS, Target

CODES = [code for code in Texts().codes() if "PRT303" <= code <= "PRT319" or code.startswith("PRT5")]
EARLY = {"PRT310", "PRT313", "PRT314"}


@pytest.fixture
def porter(tmp_path, monkeypatch) -> Porter:
    (tmp_path / "r").mkdir()
    return Porter(monkeypatch, tmp_path / "r")


def session(code: str = "", **target) -> Session:
    return open_session(target=Target(**({"soc": "910"} if code in EARLY else target)), facts=Facts())


def codes(text: str, about: Session | None = None) -> set[str]:
    return {f.code for f in analyse("before.py", text.encode(), about or session()).findings}


def ported(text: str, about: Session | None = None, *, unsafe: bool = False) -> str:
    result = analyse("before.py", text.encode(), about or session())
    assert not [f for f in result.findings if f.code in ("PRT002", "PRT003")]
    return apply(text.encode(), result.review if unsafe else result.auto).decode()


@pytest.mark.parametrize("code", CODES)
def test_the_example_of_a_rule(code: str) -> None:
    rule, about = Texts().rule(code), session(code)
    assert code in codes(rule.before, about)
    assert ported(rule.before, about, unsafe=True) == rule.after
    if rule.by_hand:
        assert code not in codes(rule.by_hand, about)


@pytest.mark.parametrize("version", versions())
def test_every_name_that_is_written_exists(version: str) -> None:
    catalogue = load(version)
    assert all(catalogue.has(f"torch.npu.{part}.allow_hf32") for part in SWITCHES.values())
    assert all(catalogue.has(f"torch_npu.profiler.{name}") for name in MOVED)
    for name in ("torch_npu.npu.utils.npu_check_overflow", "torch_npu.profiler._ExperimentalConfig", "torch.npu.mstx"):
        assert catalogue.has(name), name
    assert "use_gzip" not in catalogue.parameters("torch_npu.profiler.tensorboard_trace_handler")


def test_the_activity_and_its_class_move_together() -> None:
    """`ProfilerActivity.NPU` exists on the class of torch_npu only."""
    text = "from torch.profiler import profile, ProfilerActivity\n"
    text += "with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]):\n    pass\n"
    after = ported(text)
    assert "from torch_npu.profiler import profile, ProfilerActivity\n" in after and "ProfilerActivity.NPU" in after
    assert "CUDA" not in after and "torch.profiler" not in after


@pytest.mark.parametrize(
    "text",
    [
        "import torch\n@torch.jit.script\ndef f(x):\n    return x\n",
        "import torch\nf = torch.compile(g, mode='max-autotune')\n",
        "import torch\ntorch.backends.cudnn.benchmark = True\n",
        "import torch\nx = torch.jit.trace(model, y)\n",
        "from torch import profiler as p\nwith p.profile(activities=[p.ProfilerActivity.CPU]):\n    pass\n",
        "channels_last = 1\nx.to(memory_format=channels_last)\nimport torch\n",
        "import torch\nclass A:\n    def double(self): ...\nA().double()\n",
        "import torch, pandas\nf = pandas.DataFrame()\nf.double()\n",
    ],
)
def test_no_edit_without_a_person(text: str) -> None:
    assert ported(text) == text


def test_a_torch_npu_that_is_bound_to_another_name() -> None:
    """`torch_npu.profiler` cannot be spelled where only `from torch_npu.npu import amp` is there."""
    text = "import torch\nfrom torch_npu.npu import amp\nwith torch.profiler.profile():\n    pass\n"
    assert ported(text, unsafe=True) == text
    assert "PRT505" in codes(text)


@pytest.mark.parametrize("soc", SOCS)
def test_what_a_chip_cannot_do_is_said_for_that_chip_only(soc: str) -> None:
    text = "import torch\nm.to(torch.bfloat16)\nif torch.isfinite(loss):\n    s.masked_fill(m, float('-inf'))\n"
    found = codes(text, session(soc=soc))
    assert found & EARLY == (EARLY if Target(soc=soc).early else set())
    asked = {rule.code for rule in rules(soc).all}
    assert EARLY <= asked or not EARLY & asked


OFF = "import torch\ntorch.jit.trace(model, x).save('m.pt')\ntorch.backends.cudnn.deterministic = True\n"


@pytest.mark.parametrize(
    "arguments, wanted",
    [
        ((), {"PRT305"}),
        (("--select", "PRT5"), set()),
        (("--select", "PRT509"), {"PRT509"}),
        (("--select", "torchscript-call,PRT3"), {"PRT305", "PRT509"}),
        (("--select", "PRT,PRT509", "--ignore", "PRT305"), {"PRT509"}),
    ],
)
def test_what_is_off_by_default(porter: Porter, arguments, wanted) -> None:
    write(porter.folder, {"a.py": OFF})
    got = porter("analyze", ".", "--format", "json", *arguments)
    assert {f["code"] for f in json.loads(got.text)["findings"]} == wanted


def test_a_suppression_of_what_is_off_is_not_unused(porter: Porter) -> None:
    write(porter.folder, {"a.py": "import torch\ntorch.jit.trace(m, x)  # porter: ignore[PRT509] an export\n"})
    got = porter("analyze", ".", "--format", "json")
    assert json.loads(got.text)["findings"] == []


def test_its_pages_say_so(porter: Porter) -> None:
    assert "--select PRT509" in porter("explain", "PRT509").text
    assert "默认关闭" in porter("explain", "PRT509", "--lang", "zh").text
    listed = {rule["code"]: rule["default"] for rule in json.loads(porter("rules", "--format", "json").text)["rules"]}
    assert {code for code, default in listed.items() if default == "off"} >= {"PRT315", "PRT509"}
    assert listed["PRT303"] == "on"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("torch.backends.cuda.matmul.allow_tf32 = True", "PRT303"),
        ("torch.set_float32_matmul_precision('high')", "PRT304"),
        ("torch.backends.cudnn.deterministic = True", "PRT305"),
        ("x = t.to(device).double()", "PRT307"),
        ("f = torch.compile(g, mode='max-autotune')", "PRT503"),
        ("x = x.to(memory_format=torch.channels_last)", "PRT502"),
        ("torch._C._jit_set_nvfuser_enabled(True)", "PRT501"),
        ("m = torch.jit.trace(g, x)", "PRT509"),
        ("with torch.autograd.profiler.profile(use_cuda=True): pass", "PRT508"),
        ("with torch.profiler.profile(): pass", "PRT505"),
    ],
)
def test_what_others_neither_edit_nor_report(text: str, code: str) -> None:
    assert code in codes(f"import torch\n{text}\n")


@pytest.mark.parametrize(
    ("path", "head", "told"),
    [
        ("test_model.py", "def test_f():", False),
        ("test_model.py", "def samples():", False),  # who takes nothing has no tensors of the device
        ("test_model.py", "def checked(x):", True),
        ("test_model.py", "def test_f(device):", True),
        ("model.py", "def test_f():", True),
    ],
)
def test_a_test_that_names_no_device_computes_on_the_host(path: str, head: str, told: bool) -> None:
    text = f"import torch\nDEVICE = 'cuda'\n{head}\n    batch = made()\n    return batch.to(dtype=torch.float64), batch.y.double()\n"
    found = {f.code for f in analyse(path, text.encode(), session()).findings}
    assert ("PRT307" in found) is told


@pytest.mark.parametrize("path", ["tests/unit/helper.py", "test_model.py", "pkg/model_test.py"])
def test_what_only_costs_time_is_no_concern_of_tests(path: str) -> None:
    text = "import torch\nf = torch.compile(g)\ntorch.nn.functional.gelu(x)\ntorch.use_deterministic_algorithms(True)\n"
    text += "torch._C._jit_set_profiling_mode(False)\ndef h(x):\n    return torch.isnan(x)\n"
    wanted = {"PRT306", "PRT311", "PRT313", "PRT501", "PRT503"}
    about = session(soc="910")
    assert {f.code for f in analyse("pkg/model.py", text.encode(), about).findings} == wanted
    assert not analyse(path, text.encode(), about).findings
