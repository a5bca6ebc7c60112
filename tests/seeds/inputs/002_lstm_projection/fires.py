import torch
from torch import nn


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(256, 512, batch_first=True, proj_size=128)  # expect: PRT710

    def forward(self, x):
        return self.rnn(x)[0]
