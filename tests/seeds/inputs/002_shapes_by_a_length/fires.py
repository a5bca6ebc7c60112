import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(10000, 256)
        self.rnn = nn.LSTM(256, 512, batch_first=True)

    def forward(self, tokens, lengths):
        tokens = tokens[:, : lengths.max()]  # expect: PRT601
        packed = pack_padded_sequence(self.embed(tokens), lengths.cpu(), batch_first=True)
        return pad_packed_sequence(self.rnn(packed)[0], batch_first=True)[0]


def step(net, tokens, lengths):
    net(tokens.cuda(), lengths.cuda()).sum().backward()
