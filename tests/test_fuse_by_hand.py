"""What `porter explain` shows as the finished port of a fused operator that porter does not write: on the virtual NPU it computes
what the example computes, forwards and backwards, and a version with a mistake in it does not."""

from __future__ import annotations

import json
from typing import NamedTuple

import pytest

from porter.checks.texts import Texts


class Case(NamedTuple):
    model: str  # a Model of the example, and its inputs
    mistakes: tuple[tuple[str, str], ...]  # (text, what to put in its place)


CASES = {
    "PRT619": Case(
        "Model = lambda: Output(8)\ninputs = lambda: [torch.randn(2, 5, 8), torch.randn(2, 5, 8)]",
        (("(x, residual,", "(x, 2 * residual,"), ("self.norm.eps", "1e-1"), (")[0]", ")[-1]")),
    ),
    "PRT621": Case(
        "Model = Weights\n"
        "inputs = lambda: [torch.randn(2, 3, 32, 8), torch.randn(2, 3, 64, 8), torch.rand(2, 1, 32, 64) > 0.6]",
        ((", hidden,", ", ~hidden,"), ("scale = 1.0 / math", "scale = math"), (", scale)", ")")),
    ),
    "PRT622": Case(
        "Model = lambda: Experts(4, 6, 5)\n"
        "inputs = lambda: [torch.randn(7, 6), torch.rand(7, 2), torch.stack([torch.randperm(4)[:2] for _ in range(7)])]",
        (
            ("probs=weights", "probs=1 - weights"),
            ("<= experts", "< experts"),
            ("weight.transpose(1, 2)", "-weight.transpose(1, 2)"),
            ("product([rows.t()], [grad]", "product([rows.t()], [2 * grad]"),
            (", self.up, ends)", ", self.up.flip(0), ends)"),
        ),
    ),
    "PRT623": Case(
        """
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = torch.nn.Linear(3, 4), torch.nn.Linear(4, 2)

    def forward(self, x):
        with torch.enable_grad():
            self.down(self.up(x)).square().sum().backward()
        return clip(list(self.parameters()), 0.5).cpu()


inputs = lambda: [torch.randn(5, 3)]
""",
        (("(parameters, largest)\n", "(parameters, 2 * largest)\n"), ("parameters, largest)\n", "parameters[1:], largest)\n")),
    ),
    "PRT624": Case(
        "Model = Activation\ninputs = lambda: [torch.randn(4, 8)]",
        ((', approximate="tanh"', ""), ("F.gelu(x", "F.gelu(x + 1")),
    ),
}  # fmt: skip

_HARNESS = """
import json, sys, torch, torch_npu
sys.path.insert(0, sys.argv[1])
from says import forward_and_backward, same

def run(text):
    torch.manual_seed(0)
    space = {}
    exec(text, space)
    model = space["Model"]().npu()
    found = forward_and_backward(model, *(t.npu() for t in space["inputs"]()))
    return found + [p.grad.cpu() for p in model.parameters() if p.grad is not None]

def differs(text, wanted):
    try:
        same(run(text), wanted, 1e-5)
    except (AssertionError, RuntimeError) as error:
        return str(error) or "raises"
    return ""

said = {}
for code, (before, after, mistakes) in json.load(open(sys.argv[2])).items():
    wanted = run(before)
    said[code] = [len(wanted), *(differs(text, wanted) for text in (after, *mistakes))]
print(json.dumps(said))
"""


def programs() -> dict[str, tuple[str, str, list[str]]]:
    texts, made = Texts(), {}
    for code, (model, mistakes) in CASES.items():
        rule, tail = texts.rule(code), f"\n\nimport torch\n\n{model}\n"
        after = rule.by_hand + tail
        assert all(old in rule.by_hand for old, _ in mistakes), code
        made[code] = rule.before + tail, after, [rule.by_hand.replace(old, new) + tail for old, new in mistakes]
    return made


@pytest.fixture(scope="module")
def differences(virtual_npu) -> dict[str, list]:
    from virtual_device import FACTS

    (virtual_npu.folder / "by_hand.json").write_text(json.dumps(programs()))
    (virtual_npu.folder / "by_hand.py").write_text(_HARNESS)
    done = virtual_npu.run(["-W", "ignore", "by_hand.py", str(FACTS), "by_hand.json"])
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


@pytest.mark.parametrize("code", CASES)
def test_what_is_written_by_hand_computes_the_same(differences, code: str) -> None:
    tensors, difference, *_ = differences[code]
    assert difference == "" and tensors > 1, "a result, and gradients"


@pytest.mark.parametrize(("code", "at"), [(c, at) for c, case in CASES.items() for at in range(len(case.mistakes))])
def test_a_mistake_in_it_would_be_seen(differences, code: str, at: int) -> None:
    assert differences[code][2 + at] != "", CASES[code].mistakes[at]
