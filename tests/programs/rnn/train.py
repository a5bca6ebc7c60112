"""Sequences of different lengths: a packed LSTM encoder, a GRU cell with attention as decoder."""

import torch
import torch.nn as nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

USE_CUDA = torch.cuda.is_available()
device = torch.device("cuda:0" if USE_CUDA else "cpu")
FloatTensor = torch.cuda.FloatTensor if USE_CUDA else torch.FloatTensor


class Encoder(nn.Module):
    def __init__(self, vocab, hidden):
        super().__init__()
        self.hidden = hidden
        self.embedding = nn.Embedding(vocab, hidden, padding_idx=0)
        self.lstm = nn.LSTM(hidden, hidden, num_layers=2, batch_first=True, bidirectional=True)

    def forward(self, tokens, lengths):
        packed = pack_padded_sequence(self.embedding(tokens), lengths.cpu(), batch_first=True, enforce_sorted=False)
        output, (h, _) = self.lstm(packed, self.initial(tokens.size(0)))
        output, _ = pad_packed_sequence(output, batch_first=True)
        return output[..., : self.hidden] + output[..., self.hidden :], h[-1]

    def initial(self, batch):
        zeros = torch.zeros(4, batch, self.hidden).to(device)
        return zeros, zeros.clone()


class Decoder(nn.Module):
    def __init__(self, vocab, hidden):
        super().__init__()
        self.embedding = nn.Embedding(vocab, hidden)
        self.cell = nn.GRUCell(2 * hidden, hidden)
        self.project = nn.Linear(hidden, vocab)

    def forward(self, token, hidden, memory, padding):
        scores = torch.einsum("bh,bth->bt", hidden, memory).masked_fill(padding, float("-inf"))
        context = torch.bmm(scores.softmax(-1).unsqueeze(1), memory).squeeze(1)
        hidden = self.cell(torch.cat([self.embedding(token), context], -1), hidden)
        return self.project(hidden), hidden


def main():
    torch.manual_seed(2)
    if USE_CUDA:
        torch.cuda.manual_seed(2)
    sequences = [torch.randint(1, 20, (n,)) for n in (7, 5, 3, 6)]
    lengths = torch.tensor([len(s) for s in sequences])
    tokens = pad_sequence(sequences, batch_first=True).to(device)
    padding = tokens == 0
    encoder, decoder = Encoder(20, 12).to(device), Decoder(20, 12).to(device)
    params = [*encoder.parameters(), *decoder.parameters()]
    optimizer = torch.optim.Adam(params, lr=1e-2)
    for epoch in range(6):
        memory, hidden = encoder(tokens, lengths)
        token = torch.zeros(4, dtype=torch.long, device=device)
        weight = FloatTensor(20).fill_(1.0)
        weight[0] = 0.0
        loss = 0
        for t in range(tokens.size(1)):
            logits, hidden = decoder(token, hidden, memory, padding)
            loss += nn.functional.cross_entropy(logits, tokens[:, t], weight=weight)
            token = tokens[:, t]
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(params, 1.0)
        optimizer.step()
        print("epoch", epoch, "loss", loss.item() / tokens.size(1))


if __name__ == "__main__":
    main()
