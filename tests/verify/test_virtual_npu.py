"""The device of the real torch_npu on the stand-ins: every fact of tests/virtual_npu, and how processes end."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor

import pytest
from virtual_device import VirtualNpu, names

from porter.catalog.read import traced

pytestmark = pytest.mark.slow

_BARE = {"VIRTUAL_NPU_LIBRARY": ""}  # torch_npu on the stand-ins, with its own kernels
_BACKWARD = """
import torch, torch_npu
model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Dropout(0.1), torch.nn.LayerNorm(8)).npu()
optimiser = torch.optim.Adam(model.parameters())
for _ in range(5):
    model(torch.randn(4, 8).npu()).square().sum().backward()
    optimiser.step()
print("done")
"""


@pytest.fixture(scope="module", autouse=True)
def begun(request: pytest.FixtureRequest, virtual_npu: VirtualNpu) -> None:
    """Files of facts are run in two processes at a time, while tests look at those that are done."""
    tests = (item for item in request.session.items if "virtual_npu" in item.fixturenames)
    virtual_npu.begin(dict.fromkeys(item.callspec.params["file"] for item in tests if "file" in _parameters(item)))


def _parameters(item: pytest.Item) -> dict[str, object]:
    return item.callspec.params if hasattr(item, "callspec") else {}


@pytest.mark.parametrize(("file", "fact"), names())
def test_fact(virtual_npu: VirtualNpu, file: str, fact: str) -> None:
    virtual_npu.facts(file).check(file, fact)


@pytest.mark.parametrize("file", sorted({file for file, _ in names()}))
def test_the_process_of_the_facts_ends_well(virtual_npu: VirtualNpu, file: str) -> None:
    answers = virtual_npu.facts(file)
    assert answers.code == 0, answers.tail


def test_a_small_training_run_always_exits_with_0(virtual_npu: VirtualNpu) -> None:
    times = int(os.environ.get("PORTER_EXIT_RUNS", "2"))  # each port of test_verify_programs that agrees is one, too
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        runs = list(pool.map(lambda _: virtual_npu.program(_BACKWARD, cold=True), range(times)))
    assert [(r.returncode, r.stdout) for r in runs] == [(0, "done\n")] * times


def test_what_starts_the_ranks_has_no_device(virtual_npu: VirtualNpu) -> None:
    told = virtual_npu.run(["-X", "importtime", "-m", "torch.distributed.run", "--help"], cold=True)
    assert told.returncode == 0, told.stderr
    imported = {line.rpartition("|")[2].strip() for line in told.stderr.splitlines()}
    assert "torch" in imported
    assert "torch_npu" not in imported
    asks = virtual_npu.run(
        ["-m", "torch.distributed.run", "--nproc-per-node=auto", "--no-python", "echo", "rank"], cold=True, devices=3
    )
    assert asks.stdout.split() == ["rank"] * 3, "as many as there are devices"


_UNSEEDED = """
import multiprocessing, numpy
def draw(): print(numpy.random.default_rng().random(), flush=True)
draw(); draw()
child = multiprocessing.get_context("fork").Process(target=draw)
child.start(); child.join()
"""


def test_generators_that_nobody_seeds_draw_the_same_in_each_run_and_others_in_each_process(
    virtual_npu: VirtualNpu,
) -> None:
    runs = [virtual_npu.program(_UNSEEDED, cold=True).stdout.split() for _ in range(2)]
    assert runs[0] == runs[1]
    assert len(set(runs[0])) == 3


def test_a_device_that_does_not_exist_raises_and_the_process_ends(virtual_npu: VirtualNpu) -> None:
    program = """
import torch, torch_npu
try:
    torch.ones(2, device="npu:7")
except RuntimeError as error:
    print("raised")
torch.ones(2, device="npu:0").sum().item()
"""
    done = virtual_npu.program(program, cold=True)
    assert done.stdout == "raised\n", done.stderr
    assert done.returncode == 0, done.stderr


def test_left_uncaught_it_is_an_ordinary_error(virtual_npu: VirtualNpu) -> None:
    done = virtual_npu.program('import torch, torch_npu\ntorch.ones(2, device="npu:7")')
    assert done.returncode == 1
    assert "Traceback" in done.stderr


_FALLBACKS = """
import torch, torch_npu
x = torch.tensor([[2.0, 1.0], [1.0, 3.0]]).npu()
calls = {
    "det": lambda: torch.linalg.det(x), "det again": lambda: torch.linalg.det(x), "lgamma": lambda: torch.lgamma(x),
    "mode": lambda: torch.mode(x), "fmin": lambda: torch.fmin(x, x), "in place": lambda: x.digamma_(),
    "cholesky": lambda: torch.linalg.cholesky_ex(x), "relu": lambda: torch.relu(x), "sum": lambda: x.sum(),
    "inverse": lambda: torch.inverse(x), "gelu": lambda: torch.nn.functional.gelu(x), "gather": lambda: x.gather(0, (x > 9).long()),
    "attention": lambda: torch.nn.functional.scaled_dot_product_attention(x[None, None], x[None, None], x[None, None]),
    "heaviside": lambda: torch.heaviside(x, x), "special": lambda: torch.special.entr(x), "eigh": lambda: torch.linalg.eigh(x),
    "weight_norm": lambda: torch._weight_norm(x, x[:, :1]), "cumprod": lambda: x.cumprod(0), "hypot": lambda: x.hypot(x),
}
for name, call in calls.items():
    try:
        call()
    except RuntimeError as error:
        if "FALLBACK" in str(error):
            print(name, str(error).splitlines()[0])
"""
_FORBIDDEN = {"TORCH_NPU_FALLBACK_CPU_DISABLE": "1"}


def _said(text: str, what: str) -> list[str]:
    return [line.partition("'")[2].partition("'")[0] for line in text.splitlines() if what in line]


def test_the_fallback_to_the_cpu_is_announced_and_forbidden_as_by_torch_npu_itself(virtual_npu: VirtualNpu) -> None:
    """Without our kernels torch_npu's own fallback is at work on the stand-ins: it says what is to be said."""
    ours, its = (virtual_npu.program(_FALLBACKS, **more) for more in (_FORBIDDEN, {**_FORBIDDEN, **_BARE}))
    assert len(its.stdout.splitlines()) > 7
    assert ours.stdout == its.stdout
    warned = virtual_npu.program(_FALLBACKS)
    assert warned.returncode == 0
    assert warned.stdout == ""
    assert _said(warned.stderr, "CAUTION") == list(dict.fromkeys(_said(ours.stdout, "FALLBACK")))
    assert "and will fall back to run on the CPU. This may have performance implications." in warned.stderr


_TRACE = """
import json, torch, torch_npu
from virtual_npu import native

def seen(call):
    native.trace(True, "", False)
    result = call()
    native.pause(False)
    return {name: kind.replace("cpu_fallback", "cpu") for name, _, kind, *_ in native.seen()}, result

found = {}
for api, function in {
    "torch.lgamma": torch.lgamma, "torch.nn.functional.relu": torch.nn.functional.relu, "torch.linalg.det": torch.linalg.det,
    "torch.fmax": lambda x: torch.fmax(x, x + 1), "torch.true_divide": lambda x: torch.true_divide(x, x),
}.items():
    forward, result = seen(lambda: function(torch.eye(3).npu().requires_grad_()))
    cotangent = torch.ones(result.shape).npu()
    backward, _ = seen(lambda: result.backward(cotangent))
    found[api] = [forward, backward]
print(json.dumps(found))
"""


def test_the_shipped_trace_is_what_runs(virtual_npu: VirtualNpu) -> None:
    shipped = traced.load("2.13.0")
    for api, parts in json.loads(virtual_npu.program(_TRACE).stdout).items():
        for ran, known in zip(parts, (shipped[api].forward, shipped[api].backward)):
            assert known, api
            kinds = {name: kind for name, kind in ran.items() if name in known}
            assert kinds, api
            assert kinds == {name: known[name] for name in kinds}, api


def test_without_native_code_there_is_no_device(virtual_npu: VirtualNpu) -> None:
    """The stand-ins alone compute nothing: a kernel of torch_npu's own says so and does not give zeros."""
    done = virtual_npu.program("import torch, torch_npu; print((torch.ones(2).npu() + 1).tolist())", **_BARE)
    assert done.returncode != 0
    assert done.stdout == ""


@pytest.mark.parametrize("devices", [1, 8])
def test_there_are_as_many_devices_as_asked_for(virtual_npu: VirtualNpu, devices: int) -> None:
    program = "import torch, torch_npu; print(torch.npu.device_count(), torch.ones(1, device='npu:%d').device)"
    done = virtual_npu.program(program % (devices - 1), devices=devices)
    assert done.stdout == f"{devices} npu:{devices - 1}\n", done.stderr


# torch_npu registers an autograd kernel alone for these; what the tables say is what the wheel's list of operators says
_AUTOGRAD_ALONE = {"binary_cross_entropy_with_logits.out", "matmul_backward.out", "native_dropout.out"}


def test_the_static_tables_are_what_the_live_dispatcher_does(virtual_npu) -> None:
    """The catalogue reads every operator's class out of the wheel without loading it; here the wheel is loaded."""
    from porter.catalog.read.load import load
    from porter.catalog.read.operators import COMPOSITE, CPU, NATIVE

    live = virtual_npu.dispatcher()
    catalogue = load("2.13.0")
    letters = {NATIVE: {"n"}, CPU: {"c", ""}, COMPOSITE: {"i", "e"}}
    shared, wrong = 0, []
    for name in catalogue.operators.names():
        operator = name.removeprefix("aten::")
        if name not in live or operator in _AUTOGRAD_ALONE:
            continue
        shared += 1
        (known,) = (o for o in catalogue.operators.overloads(name) if o.name == name)
        if live[name] not in letters[known.kernel]:
            wrong.append((operator, known.kernel, live[name]))
    assert shared > 3_000
    assert not wrong
