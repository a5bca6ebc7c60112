"""Trains, saves everything, starts again from the file and goes on: the curve must go on as if nothing had happened."""

import argparse
import os
import random

import numpy as np
import torch
import torch.nn as nn
import torch.utils.checkpoint


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Sequential(nn.Linear(10, 20), nn.Dropout(0.2), nn.ReLU())
        self.second = nn.Sequential(nn.Linear(20, 20), nn.Dropout(0.2), nn.ReLU())
        self.last = nn.Linear(20, 1)

    def forward(self, x):
        x = torch.utils.checkpoint.checkpoint(self.first, x, use_reentrant=False)
        x = torch.utils.checkpoint.checkpoint(self.second, x, use_reentrant=False)
        return self.last(x)


def save(path, model, optimizer, scheduler, step):
    torch.save(
        {
            "model": model.state_dict(), "optimizer": optimizer.state_dict(), "scheduler": scheduler.state_dict(),
            "step": step,
            "rng": {
                "python": random.getstate(), "numpy": np.random.get_state(), "torch": torch.get_rng_state(),
                "cuda": torch.cuda.get_rng_state_all(),
            },
        },
        path,
    )  # fmt: skip


def load(path, model, optimizer, scheduler, gpu):
    loc = f"cuda:{gpu}"
    checkpoint = torch.load(path, map_location=loc, weights_only=False)
    model.load_state_dict(checkpoint["model"])
    optimizer.load_state_dict(checkpoint["optimizer"])
    scheduler.load_state_dict(checkpoint["scheduler"])
    rng = checkpoint["rng"]
    random.setstate(rng["python"])
    np.random.set_state(rng["numpy"])
    torch.set_rng_state(rng["torch"].cpu())
    torch.cuda.set_rng_state_all([state.cpu() for state in rng["cuda"]])
    return checkpoint["step"]


def build():
    model = Model().cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    return model, optimizer, torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.7)


def train(model, optimizer, scheduler, first, last):
    for step in range(first, last):
        x = torch.randn(8, 10).cuda() + torch.from_numpy(np.random.rand(8, 10)).float().cuda()
        noise = torch.randn(8, 1, device="cuda") * random.random()
        loss = (model(x) - x.sum(1, keepdim=True) + noise).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        print(f"step {step} loss {loss.item():.6f} lr {scheduler.get_last_lr()[0]:.4g}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--output-dir", default="runs")
    parser.add_argument("--gpu", default=0, type=int)
    args = parser.parse_args()
    os.makedirs(args.output_dir, exist_ok=True)
    path = os.path.join(args.output_dir, "checkpoint.pth.tar")
    torch.cuda.set_device(args.gpu)
    torch.manual_seed(10)
    train(*build(), 0, 2)
    parts = build()
    train(*parts, 0, 3)
    save(path, *parts, 3)
    train(*parts, 3, 4)
    parts = build()
    train(*parts, load(path, *parts, args.gpu), 7)
    save(os.path.join(args.output_dir, "last.pth.tar"), *parts, 7)


if __name__ == "__main__":
    main()
