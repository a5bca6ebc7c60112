"""Every entry of docs/advice.md has an input that calls for it, with the line, and a twin in which nothing does.

Of what answers an entry, advice has its pairs in tests/advice.toml. A rule's input is the example of its stanza, and its twin
the finished port; where the port keeps what is told of, and for logs, variables and steps, the pair stands here.
"""

from __future__ import annotations

import json
from functools import cache
from typing import NamedTuple

import pytest
from diagnose_logs import FALLING, MEGATRON, RANK, diagnosed, epochs, losses, scales
from report_samples import made
from test_advice import LOOP, ROWS, commands

from porter.advice import load
from porter.analysis.analyse import analyse, kind, may_concern
from porter.analysis.session import open_session
from porter.engine.facts import Facts
from porter.engine.launch import Launch
from porter.engine.together import lines_of
from porter.files.kinds import PYTHON
from porter.rulebook.texts import Texts
from porter.target import Target

TORCH = "import torch\n"
ENTRIES = [entry for entry in load.index()["entry"] if "answer" in entry]
ANSWERS = sorted({answer for entry in ENTRIES for answer in entry["answer"]})
CODES = [answer for answer in ANSWERS if ":" not in answer]


def of_kind(name: str) -> list[str]:
    return [answer for answer in ANSWERS if answer.startswith(f"{name}:")]


class Pair(NamedTuple):
    yes: str
    line: int  # that calls for it
    no: str
    name: str = "train.py"


LAUNCH = "torchrun --nproc_per_node=8 train.py"
PAIRS = {
    "PRT305": Pair(TORCH + "torch.backends.cudnn.deterministic = True\n", 2, TORCH + "torch.backends.mkldnn.enabled = True\n"),
    "PRT306": Pair(
        TORCH + "import torch.distributed as dist\ntorch.use_deterministic_algorithms(True)\ndist.get_rank()\n", 3,
        TORCH + "import torch.distributed as dist\ntorch.use_deterministic_algorithms(False)\ndist.get_rank()\n",
    ),
    "PRT403": Pair(
        "import torch\nimport triton\n\n\n@triton.jit\ndef scale(x):\n    pass\n", 5, "import torch\nimport triton\nprint(triton.__version__)\n"
    ),
    "PRT501": Pair(
        TORCH + "torch._C._jit_set_nvfuser_enabled(True)\n", 2, TORCH + "\n\n@torch.jit.script\ndef f(x):\n    return x + 1\n"
    ),
    "PRT503": Pair(TORCH + "model = torch.compile(model, mode='max-autotune')\n", 2, TORCH + "ready = torch.compiler.is_compiling()\n"),
    "PRT509": Pair(TORCH + "torch.jit.trace(model, x).save('m.pt')\n", 2, TORCH + "m = torch.jit.load('m.pt')\n"),
    "PRT604": Pair(
        "from torch.nn.utils.rnn import pad_sequence\n\n\ndef collate(samples):\n    return pad_sequence(samples)\n", 5,
        "from torch.nn.utils.rnn import pad_sequence\n\n\ndef show(samples):\n    return samples[0]\n",
    ),
    "PRT803": Pair("import os\nimport torch\nos.environ['NCCL_P2P_DISABLE'] = '1'\n", 3, "import os\nimport torch\nos.environ['MASTER_PORT'] = '1'\n"),
    "PRT825": Pair(f"{LAUNCH} --backend nccl\n", 1, f"{LAUNCH} --backend gloo\n", "run.sh"),
    "PRT826": Pair(f"{LAUNCH}\n", 1, f"source /usr/local/Ascend/ascend-toolkit/set_env.sh\n{LAUNCH}\n", "run.sh"),
    "PRT850": Pair("// scale\n__global__ void scale(float* x) {\n  x[threadIdx.x] *= 2;\n}\n", 2, "// a table\nstatic const int sizes[] = {1, 2};\n", "scale.cu"),
    "PRT903": Pair(TORCH + "torch.onnx.export(model, x, 'm.onnx')\n", 2, TORCH + "import onnx\nonnx.load('m.onnx')\n"),
}  # fmt: skip
# the line of a rule's example that it tells of first
EXAMPLES = {
    "PRT004": 2, "PRT101": 5, "PRT105": 5, "PRT120": 3, "PRT130": 3, "PRT201": 7, "PRT202": 5, "PRT204": 9, "PRT206": 5, "PRT209": 6,
    "PRT211": 5, "PRT301": 5, "PRT302": 5, "PRT303": 3, "PRT312": 6, "PRT315": 5, "PRT350": 6, "PRT351": 6, "PRT352": 8, "PRT353": 6,
    "PRT354": 8, "PRT355": 2, "PRT401": 2, "PRT402": 6, "PRT404": 3, "PRT408": 5, "PRT502": 5, "PRT505": 5, "PRT507": 7, "PRT601": 7,
    "PRT602": 6, "PRT603": 6, "PRT610": 5, "PRT611": 11, "PRT612": 12, "PRT613": 6, "PRT614": 8, "PRT630": 10, "PRT701": 5, "PRT702": 5,
    "PRT801": 5, "PRT802": 5, "PRT843": 2, "PRT901": 5, "PRT902": 6,
}  # fmt: skip
FINE = losses(FALLING)
LOGS = {
    "nan-loss": (losses([*FALLING[:30], "nan", "nan"]), 31, FINE),
    "flat-loss": (losses([2.302585] * 30), 1, losses([2.302585] * 10)),
    "loss-spike": (losses([*FALLING[:60], 40.0, *FALLING[60:]]), 61, FINE),
    "oscillating-loss": (
        losses([1.0 + 3 * (n % 2) + n / 1e3 for n in range(200)]), 200, losses([0.7 + 0.05 * (n % 9) for n in range(200)])
    ),
    "grad-strides": (
        f"{FINE}UserWarning: Grad strides do not match bucket view strides. (torch_npu)\n", 201, f"{FINE}UserWarning: bucket view (torch_npu)\n"
    ),
    "loss-scale": (scales(20), 18, scales(3)),
    "stuck-metric": tuple(
        losses(FALLING, lambda n: f"\n{{'eval_accuracy': 0.{score(n)}, 'epoch': {n}}}" if n % 50 == 49 else "") if score else 204
        for score in (lambda n: 1, None, lambda n: n)
    ),
    "slow-first-step": (
        "".join(MEGATRON.format(n=n, ms=180000 if n == 1 else 900.5) for n in range(1, 20)), 1,
        "".join(MEGATRON.format(n=n, ms=1800 if n == 1 else 900.5) for n in range(1, 20)),
    ),
    "data-gap": (epochs(0.91), 20, epochs(0.01)),
    "slow-rank": tuple(
        "".join(RANK.format(r=r, n=n, ms=slow if r == 3 else 900) for n in range(1, 20) for r in range(4)) if slow > 76 else slow
        for slow in (2000, 76, 901)
    ),
    "process-left": (f"{FINE}EJ0001: Failed to initialize the HCCP process.\n", 201, f"{FINE}EJ: the process is initialised.\n"),
    "out-of-memory": (
        f"{FINE}RuntimeError: NPU out of memory. Tried to allocate 2.00 GiB\n", 201, f"{FINE}memory: 2.00 GiB were allocated\n"
    ),
}  # fmt: skip
WAITS = """import torch
model = torch.nn.Linear(3, 3).cuda()
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for x in torch.utils.data.DataLoader(data, num_workers=4, pin_memory=True):
    loss = model(x.cuda()).sum()
    loss.backward()
    optimizer.step()
    print(loss.item())
"""
VARIABLES = {
    "HCCL_DETERMINISTIC": (LOOP + "torch.use_deterministic_algorithms(True)\ntorch.distributed.get_rank()\n", 8, LOOP),
    "PYTORCH_NPU_ALLOC_CONF": (
        "import os\n" + LOOP + "os.environ['PYTORCH_CUDA_ALLOC_CONF'] = 'expandable_segments:True'\n", 9, LOOP
    ),
    "CPU_AFFINITY_CONF": (WAITS, 8, WAITS.replace("    print(loss.item())\n", "")),
}  # fmt: skip
UNASKED = {"ASCEND_GLOBAL_LOG_LEVEL", "ASCEND_LAUNCH_BLOCKING"}  # are said of every port, and give way to what is set


@cache
def told(name: str, text: str) -> frozenset[tuple[str, int]]:
    """Codes and lines of what is told of one file."""
    session, data = open_session(Target(), Facts(launch=Launch("run.sh"))), text.encode()
    if kind(name) != PYTHON and not may_concern(name, data, session):
        return frozenset()
    return frozenset((f.code, line) for f in analyse(name, data, session).findings for line in lines_of(f))


@pytest.mark.slow
def test_every_answer_has_a_pair():
    """A new entry, or a new answer of one, asks for a pair."""
    texts = Texts()
    cured = {code for code in CODES if code not in PAIRS and _cure(texts, code) is not None}
    pairs = {
        *(f"advice:{name}" for name in ROWS), *cured, *PAIRS, *(f"diagnose:{name}" for name in LOGS),
        *(f"env:{name}" for name in {*VARIABLES, *UNASKED}), *of_kind("step"), *(f"command:{name}" for name in commands()),
    }  # fmt: skip
    assert set(ANSWERS) <= pairs, sorted(set(ANSWERS) - pairs)
    assert PAIRS.keys() <= set(CODES) and EXAMPLES.keys() == set(CODES) - PAIRS.keys()
    assert {f"diagnose:{name}" for name in LOGS} == set(of_kind("diagnose"))
    assert {f"env:{name}" for name in {*VARIABLES, *UNASKED}} == set(of_kind("env"))


def _cure(texts: Texts, code: str) -> str | None:
    """The finished port of the stanza's example, where it is silent."""
    rule = texts.rule(code)
    finished = [text for text in (rule.after, rule.by_hand) if text]
    return next((text for text in finished if code not in {c for c, _ in told(_name(text), text)}), None)


def _name(text: str) -> str:
    first = text.strip("\n").partition("\n")[0]
    return first.removeprefix("# ") if first.endswith(".txt") else "train.py"


@pytest.mark.parametrize("code", EXAMPLES)
def test_a_rule_tells_of_its_example_and_not_of_the_finished_port(code: str):
    texts = Texts()
    before = texts.rule(code).before
    assert min(line for c, line in told(_name(before), before) if c == code) == EXAMPLES[code]
    assert _cure(texts, code) not in (None, before)


@pytest.mark.parametrize("code", PAIRS)
def test_a_rule_tells_of_the_line_and_not_of_its_twin(code: str):
    pair = PAIRS[code]
    assert (code, pair.line) in told(pair.name, pair.yes)
    assert code not in {c for c, _ in told(pair.name, pair.no)}


@pytest.mark.parametrize("name", LOGS)
def test_a_log_shows_it_at_the_line_and_its_twin_does_not(name: str):
    log, line, twin = LOGS[name]
    [mine] = [answer for answer in diagnosed(log).answers if answer.name == name]
    assert line in [evidence.line for evidence in mine.evidence]
    assert name not in [answer.name for answer in diagnosed(twin).answers]


@pytest.mark.parametrize("name", VARIABLES)
def test_a_variable_is_written_for_the_line_and_not_for_its_twin(name: str, tmp_path, monkeypatch):
    program, line, twin = VARIABLES[name]
    for number, (text, wanted) in enumerate(((program, True), (twin, False))):
        porter = made(monkeypatch, tmp_path / str(number), {"setup.py": "", "train.py": text})
        written = porter("env", ".", "--output", "-").text
        assert (f"export {name}=" in written) is wanted
        assert not wanted or f"(train.py:{line} " in written.partition(f"export {name}=")[0].splitlines()[-1]


def test_what_is_written_unasked_gives_way_to_what_is_set(tmp_path, monkeypatch):
    written = made(monkeypatch, tmp_path / "r", {"setup.py": "", "train.py": LOOP})("env", ".", "--output", "-").text
    assert all(f'export {name}="${{{name}:-' in written for name in UNASKED)


def test_the_steps_are_those_of_a_port_and_not_of_what_needs_none(tmp_path, monkeypatch):
    plans = []
    for number, text in enumerate((LOOP + "model = model.cuda()\n", "print(1)\n")):
        porter = made(monkeypatch, tmp_path / str(number), {"setup.py": "", "train.py": text})
        document = json.loads(porter("analyze", ".", "--format", "json").text)
        plans.append({step["name"] for step in document["plan"]})
    named = {answer.partition(":")[2] for answer in of_kind("step")}
    assert named <= plans[0] and not named & plans[1]
