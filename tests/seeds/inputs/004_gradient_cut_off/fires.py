import numpy as np
import torch
from scipy import ndimage
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 16, 3, padding=1)

    def forward(self, x):
        y = self.conv(x)
        smooth = ndimage.gaussian_filter(y.detach().cpu().numpy(), 1.0)  # expect: PRT630
        return y + torch.from_numpy(smooth).to(y.device)


def train(net, loader, opt):
    for x in loader:
        net(x.cuda()).mean().backward()
        opt.step()
