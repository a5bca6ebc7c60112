import numpy as np
import torch
from scipy import ndimage
from torch import nn


class Net(nn.Module):
    def __init__(self, kernel):
        super().__init__()
        self.conv = nn.Conv2d(1, 16, 3, padding=1)
        smooth = ndimage.gaussian_filter(kernel.detach().cpu().numpy(), 1.0)
        self.register_buffer("smooth", torch.from_numpy(smooth))

    def forward(self, x):
        return self.conv(x) * self.smooth


def train(net, loader, opt):
    for x in loader:
        net(x.cuda()).mean().backward()
        opt.step()
