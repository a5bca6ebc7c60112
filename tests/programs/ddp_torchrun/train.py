"""DistributedDataParallel, started by torchrun, one process for each GPU."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

from utils import cleanup, is_main, reduce_mean, setup


def build(width=24):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(512, 4))
    return nn.SyncBatchNorm.convert_sync_batchnorm(model)


def main():
    local_rank = setup()
    device = torch.device("cuda", local_rank)
    model = DDP(build().to(device), device_ids=[local_rank], output_device=local_rank)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    criterion = nn.CrossEntropyLoss().cuda(local_rank)

    generator = torch.Generator().manual_seed(3)
    images = torch.randn(64, 3, 8, 8, generator=generator)
    labels = torch.randint(0, 4, (64,), generator=generator)
    dataset = TensorDataset(images, labels)
    sampler = DistributedSampler(dataset, shuffle=True, seed=11)
    loader = DataLoader(dataset, batch_size=8, sampler=sampler, drop_last=True)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for images, labels in loader:
            images = images.to(device, non_blocking=True)
            labels = labels.to(device, non_blocking=True)
            loss = criterion(model(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        mean = reduce_mean(loss.detach())
        # the learning rate follows the loss of all ranks
        for group in optimizer.param_groups:
            group["lr"] = 0.1 / (1 + mean.item())
        if is_main():
            print(f"epoch {epoch} loss {mean.item():.6f} on {torch.cuda.get_device_name(local_rank)}")
    if is_main() and os.environ.get("SAVE"):
        torch.save(model.module.state_dict(), "last.pt")
    dist.barrier()
    cleanup()


if __name__ == "__main__":
    main()
