import torch
from torch import nn


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(30522, 768)
        self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(768, 12, batch_first=True), 12)
        self.decoder = nn.Linear(768, 30522)  # expect: PRT640

    def forward(self, ids):
        return self.decoder(self.encoder(self.words(ids)))


def train(net, loader, opt):
    for ids in loader:
        net(ids.cuda()).mean().backward()
        opt.step()
