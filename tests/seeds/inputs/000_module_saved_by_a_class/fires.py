import os

import torch
from torch import nn


class Learner:
    def __init__(self, out):
        self.out = out
        self.net = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 1)).cuda()
        self.best = float("inf")

    def checkpoint(self, epoch, loss):
        path = os.path.join(self.out, f"model_{epoch:03d}.pth.tar")
        if loss < self.best:
            self.best = loss
            torch.save(self.net, path)  # expect: PRT902
