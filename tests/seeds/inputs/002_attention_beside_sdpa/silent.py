import torch
import torch.nn.functional as F
from torch import nn


# the same attention twice: written out where there is nothing better
class Attention(nn.Module):
    def forward(self, q, k, v):
        if self.fused:
            return F.scaled_dot_product_attention(q, k, v)
        scores = torch.matmul(q, k.transpose(-2, -1)) / 8.0
        return torch.matmul(torch.softmax(scores, dim=-1), v)
