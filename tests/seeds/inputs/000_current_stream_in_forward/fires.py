import torch
from torch import nn


class Block(nn.Module):
    def forward(self, x):
        y = self.inner(x)
        torch.cuda.current_stream().synchronize()  # expect: PRT630
        return y + x


def train(block, loader, optimizer):
    for x in loader:
        block(x.cuda()).sum().backward()
        optimizer.step()
