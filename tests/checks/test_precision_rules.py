"""Family 3: of the words around a value that say where it is, which one counts. The first cast of a file speaks for all that are
written like it, so each is a file of its own."""

from __future__ import annotations

import pytest

from porter.analysis.python import analyse
from porter.analysis.session import open_session

SESSION = open_session()
HEAD = 'import torch\n\nHOST = torch.device("cpu")\n\n\ndef compute(model, x: torch.Tensor, x_cpu, device):\n    model.cuda()\n'


def codes(expression: str) -> set[str]:
    text = f"{HEAD}    return {expression}\n"
    return {finding.code for finding in analyse("score.py", text.encode(), SESSION).findings}


@pytest.mark.parametrize(
    "expression",
    [
        "x.to(device).double().sum().cpu().numpy()",
        "x.double().sum().cpu().numpy()",
        'x.double().sum().to("cpu").numpy()',
        "x.cpu().cuda().double().sum()",
        "x.cpu().to(device).to(torch.float64)",
        'x.cpu().to("cuda", torch.float64)',
        "x_cpu.cuda().double().sum()",
        'torch.as_tensor(x, device="cuda").double().cumsum(0)',
        "torch.linspace(0, 1, 5, dtype=torch.float64).to(device)",
        'torch.linspace(0, 1, 5, dtype=torch.float64).to(torch.device("cpu")).to(device)',
    ],
)
def test_float64_is_told_of_what_the_nearest_word_moves_to_the_device(expression):
    assert "PRT307" in codes(expression)


@pytest.mark.parametrize(
    "expression",
    [
        "x.cuda().cpu().double().sum()",
        'x.cuda().to("cpu").double()',
        'x.cuda().to("cpu", torch.float64)',
        "x_cpu.double().sum()",
        "x.double().sum().numpy()",
        'torch.as_tensor(x, device="cpu").double()',
        "torch.as_tensor(x, device=HOST).double()",
        'torch.linspace(0, 1, 5, dtype=torch.float64).to(torch.device("cpu"))',
        "torch.linspace(0, 1, 5, dtype=torch.float64).to(HOST)",
    ],
)
def test_float64_is_not_told_of_what_the_nearest_word_keeps_on_the_host(expression):
    assert "PRT307" not in codes(expression)
