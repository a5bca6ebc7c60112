"""An LSTM that tells whether a sentence praises, with a tokeniser of words."""

import argparse
import random

import torch
from torch import nn
from torch.utils.data import DataLoader

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=1)
args = parser.parse_args()
torch.manual_seed(args.seed)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

who, what = ["The film", "This book", "A play", "Her song"], ["was", "is", "seemed", "stays"]
good, bad = ["great", "Fine", "fine", "witty"], ["dull", "Flat", "flat", "loud"]
pick = random.Random(3)
sentences = []
for number in range(800):
    praises = number % 2
    words = (
        f"{pick.choice(who)} {pick.choice(what)} {pick.choice(good if praises else bad)} and {pick.choice(good + bad)}"
    )
    sentences.append((words, praises))


def tokens(sentence):
    return sentence.lower().split()


vocabulary = {"<pad>": 0, "<s>": 1}
for sentence, _ in sentences:
    for word in tokens(sentence):
        vocabulary.setdefault(word, len(vocabulary))


def encode(sentence, length=10):
    codes = [vocabulary["<s>"]] + [vocabulary.get(word, 0) for word in tokens(sentence)]
    return (codes + [0] * length)[:length]


def collate(rows):
    return torch.tensor([encode(sentence) for sentence, _ in rows]), torch.tensor([label for _, label in rows])


class Reader(nn.Module):
    def __init__(self, words):
        super().__init__()
        self.embedding = nn.Embedding(words, 32, padding_idx=0)
        self.lstm = nn.LSTM(32, 32, batch_first=True)
        self.dropout = nn.Dropout(0.0)
        self.head = nn.Linear(32, 2)

    def forward(self, x):
        out, _ = self.lstm(self.embedding(x))
        return self.head(self.dropout(out.mean(1)))


order = torch.Generator().manual_seed(args.seed)
loader = DataLoader(sentences, batch_size=20, shuffle=True, collate_fn=collate, generator=order)
model = Reader(60).to(device)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3, betas=(0.9, 0.98), weight_decay=0.0)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=40)
model.train()
for i, (inputs, labels) in enumerate(loader):
    inputs, labels = inputs.to(device), labels.to(device)
    optimizer.zero_grad()
    with torch.autocast(device.type, dtype=torch.bfloat16, enabled=False):
        outputs = model(inputs)
        loss = criterion(outputs, labels)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 0.25)
    optimizer.step()
    scheduler.step()
    print("loss: %.6f" % loss.item())
