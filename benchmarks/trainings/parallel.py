"""Two ranks with DistributedDataParallel and a DistributedSampler."""

import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    local_rank = int(os.environ["LOCAL_RANK"])
    if torch.cuda.is_available():
        torch.cuda.set_device(local_rank)
        device = torch.device("cuda", local_rank)
        dist.init_process_group(backend="nccl")
    else:
        device = torch.device("cpu")
        dist.init_process_group(backend="gloo")
    torch.manual_seed(args.seed)
    draw = torch.Generator().manual_seed(3)
    x = torch.randn(1280, 24, generator=draw)
    y = (x @ torch.randn(24, 10, generator=draw)).argmax(1)
    dataset = TensorDataset(x, y)
    sampler = DistributedSampler(dataset, num_replicas=dist.get_world_size(), rank=dist.get_rank(), seed=args.seed)
    loader = DataLoader(dataset, batch_size=16, sampler=sampler)
    model = nn.Sequential(
        nn.Linear(24, 64), nn.Tanh(), nn.Dropout(0.0), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)
    )
    model = model.to(device)
    model = DistributedDataParallel(model, device_ids=[local_rank] if device.type == "cuda" else None)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, betas=(0.9, 0.999), weight_decay=0.01)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / 10))
    sampler.set_epoch(0)
    for inputs, labels in loader:
        inputs, labels = inputs.to(device), labels.to(device)
        with torch.autocast(device.type, dtype=torch.bfloat16, enabled=False):
            outputs = model(inputs)
        loss = nn.functional.cross_entropy(outputs.float(), labels)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.4)
        optimizer.step()
        scheduler.step()
        if dist.get_rank() == 0:
            print(f"loss {loss.item():.6f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
