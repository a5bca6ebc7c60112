import torch
from torch import nn


class GPT(nn.Module):
    def __init__(self, width=768, vocab_size=50304):
        super().__init__()
        self.head = nn.Linear(width, vocab_size)

    def forward(self, x):
        return self.head(x.cuda())
