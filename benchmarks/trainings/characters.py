"""A small GPT that goes on with a text, letter by letter; two backward passes to a step."""

import argparse

import torch
import torch.nn as nn
from torch.nn import functional as F

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=1)
args = parser.parse_args()
torch.manual_seed(args.seed)
device = "cuda" if torch.cuda.is_available() else "cpu"
block_size, batch_size, width, accumulation = 32, 8, 48, 2

text = "".join(f"{a} Times {b} Is {a * b}. " for a in range(2, 30) for b in range(2, 20))
letters = sorted(set(text))
codes = {letter: code for code, letter in enumerate(letters)}
data = torch.tensor([codes[letter] for letter in text])
order = torch.Generator().manual_seed(args.seed)


def batch():
    starts = torch.randint(len(data) - block_size - 1, (batch_size,), generator=order)
    x = torch.stack([data[start : start + block_size] for start in starts])
    y = torch.stack([data[start + 1 : start + 1 + block_size] for start in starts])
    return x.to(device), y.to(device)


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.dropout = nn.Dropout(0.0)

    def forward(self, x):
        q, k, v = (t.unflatten(-1, (4, -1)).transpose(1, 2) for t in self.qkv(self.first(x)).chunk(3, -1))
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.dropout(self.out(attended.transpose(1, 2).flatten(2)))
        return x + self.down(F.gelu(self.up(self.second(x))))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens, self.places = nn.Embedding(len(letters), width), nn.Embedding(block_size, width)
        self.layers = nn.Sequential(Layer(), Layer())
        self.head = nn.Linear(width, len(letters), bias=False)

    def forward(self, x):
        return self.head(self.layers(self.tokens(x) + self.places(torch.arange(x.shape[1], device=x.device))))


model = GPT()
model.to(device)
decayed = [p for p in model.parameters() if p.dim() > 1]
others = [p for p in model.parameters() if p.dim() < 2]
optimizer = torch.optim.AdamW(
    [{"params": decayed, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}], lr=1e-3, betas=(0.9, 0.95)
)
for step in range(40):
    for group in optimizer.param_groups:
        group["lr"] = 1e-3 * min(1.0, (step + 1) / 8)
    optimizer.zero_grad()
    for _ in range(accumulation):
        x, y = batch()
        with torch.autocast(device, dtype=torch.bfloat16, enabled=False):
            logits = model(x)
        loss = F.cross_entropy(logits.flatten(0, 1).float(), y.flatten()) / accumulation
        loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    print(f"iter {step}: loss {loss.item() * accumulation:.6f}")
