import torch
from torch import nn


# something is computed in between; and what rounds on purpose
class Block(nn.Module):
    def forward(self, x):
        x = x.cuda()
        y = x.float().softmax(-1).half()
        return y + x.to(torch.bfloat16).to(torch.float32)
