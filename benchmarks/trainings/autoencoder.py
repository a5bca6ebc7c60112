"""An autoencoder of small pictures, with transposed convolutions."""

import argparse

import torch
import torch.nn as nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=1)
args = parser.parse_args()
torch.manual_seed(args.seed)
device = "cuda" if torch.cuda.is_available() else "cpu"

draw = torch.Generator().manual_seed(3)
grid = torch.linspace(-1, 1, 16)
at, size = torch.rand(800, 2, generator=draw) - 0.5, torch.rand(800, generator=draw) * 0.5 + 0.2
far = (grid[None, :, None] - at[:, 0, None, None]) ** 2 + (grid[None, None, :] - at[:, 1, None, None]) ** 2
pictures = (far.sqrt() < size[:, None, None]).float()[:, None]
order = torch.randperm(len(pictures), generator=torch.Generator().manual_seed(args.seed))


class Autoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(1, 8, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(8, 16, 4, 2, 1), nn.LeakyReLU(0.2)
        )
        self.code = nn.Linear(16 * 16, 12)
        self.back = nn.Linear(12, 16 * 16)
        self.dropout = nn.Dropout(0.0)
        self.decoder = nn.Sequential(
            nn.ConvTranspose2d(16, 8, 4, 2, 1), nn.LeakyReLU(0.2), nn.ConvTranspose2d(8, 1, 4, 2, 1)
        )

    def forward(self, x):
        code = self.dropout(torch.tanh(self.code(self.encoder(x).flatten(1))))
        return self.decoder(self.back(code).view(-1, 16, 4, 4))


model = Autoencoder().to(device)
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.NAdam(model.parameters(), lr=2e-3, betas=(0.9, 0.999), weight_decay=1e-4)
scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.97)
for step in range(40):
    batch = pictures[order[step * 20 : step * 20 + 20]].to(device)
    optimizer.zero_grad()
    with torch.autocast(device, dtype=torch.bfloat16, enabled=False):
        loss = criterion(model(batch), batch)
    loss.backward()
    torch.nn.utils.clip_grad_value_(model.parameters(), 0.01)
    optimizer.step()
    scheduler.step()
    print(f"[{step}/40] loss={loss.item():.6f}")
