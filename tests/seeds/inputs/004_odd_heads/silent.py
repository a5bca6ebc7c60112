import torch
from torch import nn


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.attn = nn.MultiheadAttention(embed_dim=320, num_heads=5, batch_first=True)

    def forward(self, x):
        return self.attn(x, x, x, need_weights=False)[0]


def train(model, loader, opt):
    for x in loader:
        model(x.cuda()).sum().backward()
        opt.step()
