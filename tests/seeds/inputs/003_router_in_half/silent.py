import torch
import torch.nn.functional as F
from torch import nn


class SparseMoE(nn.Module):
    def __init__(self, dim, experts):
        super().__init__()
        self.gate = nn.Linear(dim, experts, bias=False, dtype=torch.float32)
        self.top_k = 2

    def forward(self, x):
        logits = self.gate(x.to(torch.float32))
        weights = F.softmax(logits, dim=-1)
        return weights.topk(self.top_k, dim=-1)


def step(layer, x):
    return layer.cuda()(x.cuda())
