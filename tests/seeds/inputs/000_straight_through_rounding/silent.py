import torch
from torch import nn


class Meter:
    def __init__(self):
        self.values = []

    def add(self, loss):
        self.values.append(round(loss.item(), 4))

    def mean(self, weights):
        return (torch.tensor(self.values) - weights.detach()).mean()
