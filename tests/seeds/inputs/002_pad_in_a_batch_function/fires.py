import torch
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader


def make_batch(samples):
    texts, labels = zip(*samples)
    return pad_sequence(texts, batch_first=True), torch.stack(labels)  # expect: PRT604


def loader(dataset):
    return DataLoader(dataset, batch_size=8, shuffle=True, collate_fn=make_batch)
