from timm.models.layers import trunc_normal_
from torch import nn


class Head(nn.Module):
    def __init__(self, dim, classes):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.fc = nn.Linear(dim, classes)
        trunc_normal_(self.fc.weight, std=0.02)  # expect: advice same-initial-weights

    def forward(self, x):
        return self.fc(self.norm(x))


def train(model, loader, opt):
    for x in loader:
        model(x.cuda()).sum().backward()
        opt.step()
