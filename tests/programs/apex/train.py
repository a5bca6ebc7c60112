"""What a repository of 2019 looks like: fused optimiser and layer norm of apex, its amp where it is installed."""

import argparse

import torch
import torch.nn as nn
from apex.normalization import FusedLayerNorm
from apex.optimizers import FusedAdam

try:
    from apex import amp

    APEX_AVAILABLE = True
except ImportError:
    APEX_AVAILABLE = False


class Classifier(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.fc1 = nn.Linear(16, width)
        self.norm = FusedLayerNorm(width, eps=1e-6)
        self.fc2 = nn.Linear(width, 5)

    def forward(self, x):
        return self.fc2(torch.relu(self.norm(self.fc1(x))))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--fp16", action="store_true")
    parser.add_argument("--fp16_opt_level", type=str, default="O1")
    parser.add_argument("--max_grad_norm", type=float, default=1.0)
    args = parser.parse_args()
    if args.fp16 and not APEX_AVAILABLE:
        raise SystemExit("Please install apex from https://www.github.com/nvidia/apex to use fp16 training.")
    torch.manual_seed(13)
    torch.cuda.manual_seed(13)
    model = Classifier().cuda()
    optimizer = FusedAdam(model.parameters(), lr=1e-2, weight_decay=0.02)
    if args.fp16:
        model, optimizer = amp.initialize(model, optimizer, opt_level=args.fp16_opt_level)
    criterion = nn.CrossEntropyLoss()
    inputs, labels = torch.randn(6, 8, 16), torch.randint(0, 5, (6, 8))
    model.train()
    for step, (x, y) in enumerate(zip(inputs, labels)):
        optimizer.zero_grad()
        loss = criterion(model(x.cuda()), y.cuda())
        if args.fp16:
            with amp.scale_loss(loss, optimizer) as scaled_loss:
                scaled_loss.backward()
            torch.nn.utils.clip_grad_norm_(amp.master_params(optimizer), args.max_grad_norm)
        else:
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), args.max_grad_norm)
        optimizer.step()
        print(f"step {step}: loss {loss.item():.6f}")


if __name__ == "__main__":
    main()
