"""A small U-Net that marks what belongs to a disc; a loss of two parts."""

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=1)
args = parser.parse_args()
torch.manual_seed(args.seed)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Discs(Dataset):
    def __len__(self):
        return 320

    def __getitem__(self, index):
        draw = torch.Generator().manual_seed(index)
        grid = torch.linspace(-1, 1, 16)
        x, y, size = (torch.rand(3, generator=draw) - 0.5).tolist()
        mask = ((grid[:, None] - y) ** 2 + (grid[None] - x) ** 2 < (abs(size) + 0.3) ** 2).float()[None]
        return mask * 0.5 + torch.randn(1, 16, 16, generator=draw) * 0.4, mask


def double(inside, outside):
    return nn.Sequential(nn.Conv2d(inside, outside, 3, padding=1), nn.GroupNorm(4, outside), nn.ReLU())


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down1, self.down2, self.middle = double(1, 8), double(8, 16), double(16, 16)
        self.up1, self.up2 = double(32, 16), double(24, 8)
        self.pool, self.grow = nn.MaxPool2d(2), nn.Upsample(scale_factor=2)
        self.dropout, self.head = nn.Dropout(0.0), nn.Conv2d(8, 1, 1)

    def forward(self, x):
        a = self.down1(x)
        b = self.down2(self.pool(a))
        c = self.middle(self.pool(b))
        d = self.up1(torch.cat([self.grow(c), b], 1))
        return self.head(self.dropout(self.up2(torch.cat([self.grow(d), a], 1))))


def dice(logits, mask):
    p = logits.sigmoid()
    return 1 - (2 * (p * mask).sum() + 1) / (p.sum() + mask.sum() + 1)


loader = DataLoader(Discs(), batch_size=8, shuffle=True, generator=torch.Generator().manual_seed(args.seed))
model = UNet().to(device)
optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3, alpha=0.99, momentum=0.9, weight_decay=1e-6)
scheduler = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=10)
for image, mask in loader:
    image, mask = image.to(device), mask.to(device)
    with torch.autocast(device.type, dtype=torch.bfloat16, enabled=False):
        logits = model(image)
    loss = nn.functional.binary_cross_entropy_with_logits(logits.float(), mask) + dice(logits.float(), mask)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 0.5)
    optimizer.step()
    scheduler.step()
    print(f"loss {loss.item():.6f}")
