import torch
import torch.nn.functional as F
from torch import nn


class Up(nn.Module):
    def forward(self, x):
        return F.interpolate(x.cuda(), scale_factor=2, mode="nearest")  # expect: PRT710
