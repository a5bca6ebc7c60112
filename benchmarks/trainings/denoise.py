"""A diffusion model of points in the plane; the noise is drawn on the host."""

import argparse
import math

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=1)
args = parser.parse_args()
torch.manual_seed(args.seed)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Denoiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.time = nn.Linear(16, 64)
        self.enter = nn.Linear(2, 64)
        self.hidden = nn.ModuleList(nn.Linear(64, 64) for _ in range(3))
        self.dropout = nn.Dropout(0.0)
        self.leave = nn.Linear(64, 2)

    def forward(self, x, t):
        angles = t[:, None] * torch.exp(torch.arange(8, device=t.device) * -0.5)
        h = self.enter(x) + self.time(torch.cat([angles.sin(), angles.cos()], 1))
        for layer in self.hidden:
            h = h + torch.nn.functional.silu(layer(h))
        return self.leave(self.dropout(h))


draw = torch.Generator().manual_seed(args.seed)
signal = torch.cos(torch.linspace(0, math.pi / 2, 101)[:-1]) ** 2
model = Denoiser().to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, betas=(0.9, 0.999), weight_decay=0.01)
scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.1, total_iters=10)
for step in range(40):
    turn = torch.rand(64, generator=draw) * 9
    points = torch.stack([turn * turn.cos(), turn * turn.sin()], 1) / 9
    noise, t = torch.randn(64, 2, generator=draw), torch.randint(100, (64,), generator=draw)
    kept = signal[t][:, None]
    batch = (kept.sqrt() * points + (1 - kept).sqrt() * noise).to(device)
    t, noise = t.to(device), noise.to(device)
    with torch.autocast(device.type, dtype=torch.bfloat16, enabled=False):
        loss = (model(batch, t.float()) - noise).square().mean()
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    scheduler.step()
    print(step, loss.item())
