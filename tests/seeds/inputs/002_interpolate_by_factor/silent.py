import torch
import torch.nn.functional as F
from torch import nn


class Up(nn.Module):
    def forward(self, x):
        return F.interpolate(x.cuda(), size=(64, 64), mode="nearest")
