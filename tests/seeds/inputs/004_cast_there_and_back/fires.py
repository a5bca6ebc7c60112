import torch
from torch import nn


class Block(nn.Module):
    def forward(self, x):
        x = x.cuda()
        y = x.float().half()  # expect: PRT642
        return y + x.to(torch.bfloat16).to(torch.float32)
