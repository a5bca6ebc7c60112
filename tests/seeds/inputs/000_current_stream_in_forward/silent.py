import torch
from torch import nn


# once, where the module is made
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(8, 8).cuda()
        torch.cuda.current_stream().synchronize()

    def forward(self, x):
        return self.inner(x) + x


def train(block, loader, optimizer):
    for x in loader:
        block(x.cuda()).sum().backward()
        optimizer.step()
