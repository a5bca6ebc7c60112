"""A residual network in channels_last, as tuning guides recommend it for tensor cores."""

import argparse

import torch
import torch.nn as nn

parser = argparse.ArgumentParser()
parser.add_argument("--channels-last", action="store_true", default=True)
parser.add_argument("--steps", type=int, default=5)
args = parser.parse_args()


class Residual(nn.Module):
    def __init__(self, channels, groups=1):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1, groups=groups, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)
        self.act = nn.SiLU(inplace=True)

    def forward(self, x):
        y = self.act(self.bn1(self.conv1(x)))
        return self.act(x + self.bn2(self.conv2(y)))


class Net(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.blocks = nn.Sequential(Residual(8), Residual(8, groups=8))
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.head = nn.Linear(8, classes)

    def forward(self, x):
        return self.head(self.pool(self.blocks(self.stem(x))).flatten(1))


def main():
    torch.manual_seed(3)
    model = Net().cuda()
    if args.channels_last:
        model = model.to(memory_format=torch.channels_last)
    memory_format = torch.channels_last if args.channels_last else torch.contiguous_format
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True, weight_decay=1e-4)
    ema = {name: p.detach().clone() for name, p in model.state_dict().items()}
    images = torch.rand(args.steps, 4, 3, 16, 16)
    labels = torch.randint(0, 4, (args.steps, 4))
    for step in range(args.steps):
        x = images[step].to("cuda", non_blocking=True).contiguous(memory_format=torch.channels_last)
        y = labels[step].cuda()
        x = x.to(memory_format=memory_format)
        with torch.autocast(device_type="cuda", dtype=torch.float16):
            loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for name, value in model.state_dict().items():
                if value.dtype.is_floating_point:
                    ema[name].lerp_(value, 0.1)
        print(f"{step}: {loss.item():.5f}")
    torch.save(ema, "ema.pt")


if __name__ == "__main__":
    main()
