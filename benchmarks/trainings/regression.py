"""A perceptron that predicts a number from a row of a table."""

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=1)
args = parser.parse_args()
torch.manual_seed(args.seed)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

table = torch.randn(800, 20, generator=torch.Generator().manual_seed(3))
wanted = (table[:, :5].prod(1) + table[:, 5:].sin().sum(1)).unsqueeze(1)
order = torch.Generator().manual_seed(args.seed)
loader = DataLoader(TensorDataset(table, wanted), batch_size=20, shuffle=True, generator=order)

model = nn.Sequential(
    nn.Linear(20, 64), nn.GELU(), nn.Dropout(0.0), nn.Linear(64, 64), nn.LayerNorm(64), nn.SiLU(), nn.Linear(64, 1)
)
model.to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, betas=(0.9, 0.999), weight_decay=0.01)
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / 10))
for rows, values in loader:
    rows, values = rows.to(device), values.to(device)
    with torch.autocast(device.type, dtype=torch.bfloat16, enabled=False):
        loss = nn.functional.mse_loss(model(rows), values)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    scheduler.step()
    print(f"loss {loss.item():.6f}")
