"""Scripted and traced modules that ask where their tensors are."""

from typing import Optional, Tuple

import torch
import torch.nn as nn
from torch import Tensor


class Cell(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.inner = nn.Linear(width, width)
        self.gate = nn.Linear(width, width)

    def forward(self, x: Tensor, state: Optional[Tensor]) -> Tuple[Tensor, Tensor]:
        if state is None:
            state = torch.zeros(x.size(0), x.size(1), device=x.device)
        gate = torch.sigmoid(self.gate(x))
        state = gate * torch.tanh(self.inner(x)) + (1 - gate) * state
        return state, state


class Loop(nn.Module):
    def __init__(self, width: int = 12):
        super().__init__()
        self.cell = Cell(width)
        self.head = nn.Linear(width, 1)

    def forward(self, sequence: Tensor) -> Tensor:
        if not sequence.is_cuda:
            raise RuntimeError("this kernel is for the GPU")
        state: Optional[Tensor] = None
        outputs = torch.jit.annotate(list[Tensor], [])
        for x in sequence.unbind(1):
            output, state = self.cell(x, state)
            outputs.append(self.head(output))
        return torch.stack(outputs, 1)


@torch.jit.script
def smooth_l1(prediction: Tensor, target: Tensor, beta: float) -> Tensor:
    difference = torch.abs(prediction - target)
    return torch.where(difference < beta, 0.5 * difference * difference / beta, difference - 0.5 * beta).mean()


@torch.jit.script
def positions(length: int) -> Tensor:
    return torch.arange(length, device="cuda", dtype=torch.float32) / length


def main():
    torch.manual_seed(8)
    model = torch.jit.script(Loop().cuda())
    warp = torch.jit.trace(nn.Linear(12, 12).cuda(), torch.randn(2, 12).cuda())
    optimizer = torch.optim.SGD([*model.parameters(), *warp.parameters()], lr=0.5)
    data = torch.randn(6, 4, 5, 12)
    for step, batch in enumerate(data):
        batch = batch.cuda()
        target = batch.mean(-1, keepdim=True) + positions(5).view(1, 5, 1)
        loss = smooth_l1(model(warp(batch)), target, 0.1)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(step, loss.item())
    model.save("loop.pt")
    again = torch.jit.load("loop.pt", map_location="cuda:0")
    with torch.no_grad():
        print("same after loading:", torch.equal(again(batch), model(batch)))


if __name__ == "__main__":
    main()
