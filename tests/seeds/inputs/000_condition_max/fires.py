from torch import nn


class Limited(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(8, 8)

    def forward(self, x):
        x = self.inner(x)
        if x.max() > 3:  # expect: PRT630
            x = x / x.max()
        return x


def train(block, loader, optimizer):
    for x in loader:
        block(x.cuda()).sum().backward()
        optimizer.step()
