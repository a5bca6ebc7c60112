"""What `porter explain` shows as the finished port of a fused operator that porter does not write: on the virtual NPU it computes
what the example computes, forwards and backwards, and a version with a mistake in it does not."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from porter.rulebook.texts import Texts

pytestmark = pytest.mark.slow


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
            ("(chosen.flatten()", "((3 - chosen).flatten()"),
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


def programs() -> dict[str, list[str]]:
    texts, made = Texts(), {}
    for code, (model, mistakes) in CASES.items():
        rule, tail = texts.rule(code), f"\n\nimport torch\n\n{model}\n"
        assert all(old in rule.by_hand for old, _ in mistakes), code
        wrong = [rule.by_hand.replace(old, new) for old, new in mistakes]
        made[code] = [text + tail for text in (rule.before, rule.by_hand, *wrong)]
    return made


@pytest.fixture(scope="module")
def differences(virtual_npu) -> dict[str, list[str]]:
    return virtual_npu.differences(programs())


@pytest.mark.parametrize("code", CASES)
def test_what_is_written_by_hand_computes_the_same(differences, code: str) -> None:
    assert differences[code][0] == ""


@pytest.mark.parametrize(("code", "at"), [(c, at) for c, case in CASES.items() for at in range(len(case.mistakes))])
def test_a_mistake_in_it_would_be_seen(differences, code: str, at: int) -> None:
    assert differences[code][1 + at] != "", CASES[code].mistakes[at]
