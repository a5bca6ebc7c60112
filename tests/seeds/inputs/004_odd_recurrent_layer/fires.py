import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(300, 650, num_layers=2, batch_first=True)  # expect: PRT640
        self.head = nn.Linear(1024, 16)

    def forward(self, x):
        return self.rnn(x)[0]


def train(model, loader, opt):
    for x in loader:
        model(x.cuda()).sum().backward()
        opt.step()
