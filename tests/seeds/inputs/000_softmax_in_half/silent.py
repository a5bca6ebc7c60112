import math

import torch
import torch.nn as nn


class SelfAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.qkv = nn.Linear(dim, 3 * dim)
        self.heads, self.size = heads, dim // heads

    def forward(self, x, mask):
        b, t, d = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, self.size).permute(2, 0, 3, 1, 4)
        scores = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(self.size)
        scores = scores.masked_fill(mask, -10000.0)
        probs = torch.softmax(scores.float(), dim=-1).half()
        return torch.matmul(probs, v).transpose(1, 2).reshape(b, t, d)


def step(model, x, mask):
    return model(x.cuda(), mask.cuda())
