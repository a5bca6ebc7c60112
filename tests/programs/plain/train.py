"""A plain loop, as a beginner's tutorial has it: a small network on a made-up regression problem."""

import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.fc1 = nn.Linear(16, width)
        self.dropout = nn.Dropout(0.1)
        self.fc2 = nn.Linear(width, 1)

    def forward(self, x):
        return self.fc2(self.dropout(F.relu(self.fc1(x))))


def train(args, model, device, batches, optimizer, epoch):
    model.train()
    for batch_idx, (data, target) in enumerate(batches):
        data, target = data.to(device), target.cuda()
        optimizer.zero_grad()
        loss = F.mse_loss(model(data), target)
        loss.backward()
        optimizer.step()
        if batch_idx % args.log_interval == 0:
            print(f"Train Epoch: {epoch} [{batch_idx}/{len(batches)}]\tLoss: {loss.item():.6f}")


def test(model, device, batches):
    model.eval()
    total = 0.0
    with torch.no_grad():
        for data, target in batches:
            total += F.mse_loss(model(data.to(device)), target.to(device), reduction="sum").item()
    print(f"Test set: Average loss: {total / (len(batches) * 8):.4f}")


def main():
    parser = argparse.ArgumentParser(description="regression on CUDA")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument("--no-cuda", action="store_true", help="do not use the GPU")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--log-interval", type=int, default=2)
    args = parser.parse_args()

    use_cuda = not args.no_cuda and torch.cuda.is_available()
    if not use_cuda:
        raise SystemExit("no GPU")
    torch.manual_seed(args.seed)
    torch.cuda.manual_seed_all(args.seed)
    device = torch.device("cuda" if use_cuda else "cpu")

    inputs = torch.randn(4, 8, 16)
    targets = inputs.sum(-1, keepdim=True).sin()
    batches = list(zip(inputs, targets))
    model = Net(args.width).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    for epoch in range(1, args.epochs + 1):
        train(args, model, device, batches, optimizer, epoch)
        test(model, device, batches)
    print("peak memory:", torch.cuda.max_memory_allocated() // 1024 ** 2, "MB")


if __name__ == "__main__":
    main()
