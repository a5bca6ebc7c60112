"""A convolutional net with batch norm that names the class of an image, with a gradient scaler on the device."""

import argparse

import torch
import torch.nn.functional as F
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=1)
args = parser.parse_args()
torch.manual_seed(args.seed)
use_cuda = torch.cuda.is_available()
device = "cuda" if use_cuda else "cpu"


class Block(nn.Module):
    def __init__(self, inside, outside):
        super().__init__()
        self.conv = nn.Conv2d(inside, outside, 3, stride=2, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(outside)

    def forward(self, x):
        return F.relu(self.norm(self.conv(x)))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(Block(3, 16), Block(16, 32), Block(32, 32))
        self.dropout = nn.Dropout(0.0)
        self.head = nn.Linear(32, 10)

    def forward(self, x):
        return self.head(self.dropout(self.blocks(x).mean((2, 3))))


draw = torch.Generator().manual_seed(3)
images = torch.randn(640, 3, 16, 16, generator=draw)
labels = (images.mean((2, 3)) @ torch.randn(3, 10, generator=draw)).argmax(1)
order = torch.randperm(len(images), generator=torch.Generator().manual_seed(args.seed))

model = Net().to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=5e-4)
scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.1, total_steps=40)
scaler = torch.cuda.amp.GradScaler(enabled=use_cuda, init_scale=1024.0)
for step, chosen in enumerate(order.split(16)):
    inputs, targets = images[chosen].to(device), labels[chosen].to(device)
    with torch.autocast(device, dtype=torch.bfloat16, enabled=False):
        outputs = model(inputs)
        loss = F.cross_entropy(outputs, targets)
    optimizer.zero_grad(set_to_none=True)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
    scaler.step(optimizer)
    scaler.update()
    scheduler.step()
    print(f"step {step} loss {loss.item():.6f}")
