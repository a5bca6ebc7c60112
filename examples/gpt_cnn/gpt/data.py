"""Text as tokens: sums made on the fly, or a file of token ids saved with torch.save."""

import random

import torch
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler

CHARACTERS = "0123456789+=\n"


def encode(text):
    return [CHARACTERS.index(c) for c in text]


def decode(tokens):
    return "".join(CHARACTERS[t] for t in tokens)


class Sums(Dataset):
    """Lines such as `57+8=65`; every item is the same on every machine."""

    vocabulary = len(CHARACTERS)

    def __init__(self, context, items=100_000):
        self.context, self.items = context, items

    def __len__(self):
        return self.items

    def __getitem__(self, index):
        source, text = random.Random(index), ""
        while len(text) <= self.context:
            a, b = source.randrange(100), source.randrange(100)
            text += f"{a}+{b}={a + b}\n"
        tokens = torch.tensor(encode(text[: self.context + 1]))
        return tokens[:-1], tokens[1:]


class TokenFile(Dataset):
    def __init__(self, path, context):
        self.tokens, self.context = torch.load(path, map_location="cpu", mmap=True, weights_only=True), context
        self.vocabulary = int(self.tokens.max()) + 1

    def __len__(self):
        return (len(self.tokens) - 1) // self.context

    def __getitem__(self, index):
        window = self.tokens[index * self.context : (index + 1) * self.context + 1].long()
        return window[:-1], window[1:]


def batches(dataset, batch_size, workers, rank, world_size, seed=0):
    """Batches without end, reshuffled every epoch, every rank its own share."""
    sampler = DistributedSampler(dataset, world_size, rank, shuffle=True, seed=seed, drop_last=True)
    loader = DataLoader(
        dataset,
        batch_size=batch_size,
        sampler=sampler,
        num_workers=workers,
        pin_memory=torch.cuda.is_available(),
        drop_last=True,
        persistent_workers=workers > 0,
    )
    epoch = 0
    while True:
        sampler.set_epoch(epoch)
        yield from loader
        epoch += 1
