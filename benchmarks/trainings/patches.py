"""A vision transformer with a class token, a scaler of gradients on the device, and the step in a function."""

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class VisionTransformer(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.patches = nn.Conv2d(3, width, 4, 4)
        self.token = nn.Parameter(torch.zeros(1, 1, width))
        self.places = nn.Parameter(torch.randn(1, 17, width) * 0.02)
        layer = nn.TransformerEncoderLayer(width, 4, 64, dropout=0.0, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(width, 5)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(len(x), -1, -1), x], 1) + self.places
        return self.head(self.encoder(x)[:, 0])


def train_one_epoch(model, loader, criterion, optimizer, scheduler, scaler, device):
    model.train()
    for images, target in loader:
        images, target = images.to(device, non_blocking=True), target.to(device, non_blocking=True)
        with torch.autocast(device.type, dtype=torch.bfloat16, enabled=False):
            output = model(images)
        loss = criterion(output.float(), target)
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        scheduler.step()
        print(f"Loss {loss.item():.4e}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    draw = torch.Generator().manual_seed(3)
    images = torch.randn(640, 3, 16, 16, generator=draw)
    labels = (images.flatten(1) @ torch.randn(768, 5, generator=draw)).argmax(1)
    order = torch.Generator().manual_seed(args.seed)
    loader = DataLoader(TensorDataset(images, labels), batch_size=16, shuffle=True, generator=order)
    model = VisionTransformer().to(device)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.999), weight_decay=0.05)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / 10))
    scaler = torch.amp.GradScaler(device.type, enabled=device.type == "cuda", init_scale=4096.0)
    train_one_epoch(model, loader, criterion, optimizer, scheduler, scaler, device)


if __name__ == "__main__":
    main()
