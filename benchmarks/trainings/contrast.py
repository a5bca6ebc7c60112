"""Two towers whose embeddings of a pair are to be near: a contrastive loss with a learnt temperature."""

import argparse

import torch
import torch.nn.functional as F
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=1)
args = parser.parse_args()
torch.manual_seed(args.seed)
device = "cuda" if torch.cuda.is_available() else "cpu"

draw = torch.Generator().manual_seed(3)
hidden = torch.randn(1280, 8, generator=draw)
left = torch.tanh(hidden @ torch.randn(8, 24, generator=draw)) + 0.1 * torch.randn(1280, 24, generator=draw)
right = torch.sin(hidden @ torch.randn(8, 30, generator=draw)) + 0.1 * torch.randn(1280, 30, generator=draw)
order = torch.randperm(1280, generator=torch.Generator().manual_seed(args.seed))


class Towers(nn.Module):
    def __init__(self):
        super().__init__()
        self.left = nn.Sequential(nn.Linear(24, 48), nn.ReLU(), nn.Dropout(0.0), nn.Linear(48, 16))
        self.right = nn.Sequential(nn.Linear(30, 48), nn.ReLU(), nn.Dropout(0.0), nn.Linear(48, 16))
        self.scale = nn.Parameter(torch.tensor(2.0))

    def forward(self, a, b):
        a, b = F.normalize(self.left(a), dim=-1), F.normalize(self.right(b), dim=-1)
        return self.scale.exp() * a @ b.t()


model = Towers()
model = model.to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, betas=(0.9, 0.98), weight_decay=0.05)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=40, eta_min=1e-5)
for step in range(40):
    chosen = order[step * 32 : step * 32 + 32]
    a, b = left[chosen].to(device), right[chosen].to(device)
    with torch.autocast(device, dtype=torch.bfloat16, enabled=False):
        logits = model(a, b)
    targets = torch.arange(len(a), device=device)
    loss = (F.cross_entropy(logits.float(), targets) + F.cross_entropy(logits.float().t(), targets)) / 2
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
    optimizer.step()
    scheduler.step()
    print(f"{step} {loss.item():.6f}")
