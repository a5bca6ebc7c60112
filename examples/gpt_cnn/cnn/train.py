"""Train a small residual network: one GPU, several with nn.DataParallel, or DDP under torchrun."""

import argparse
import os

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.cuda.amp import GradScaler, autocast
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

from cnn.data import Prefetcher, datasets
from cnn.model import SmallResNet
from common import checkpoint, distributed
from common.config import parse_options
from common.meters import peak_memory_mib


def parse(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default="data", help="where CIFAR-10 lies")
    parser.add_argument("--synthetic", type=int, default=0, metavar="N", help="train on N made images instead")
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--gpus", help="ids of the GPUs to use, as in 0,1")
    parser.add_argument("--dist-backend", default="nccl", choices=["nccl", "gloo"])
    parser.add_argument("--data-parallel", action="store_true", help="one process for all visible GPUs")
    parser.add_argument("--sync-bn", action="store_true")
    parser.add_argument("--amp", action="store_true")
    parser.add_argument("--mixup", type=float, default=0.0)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--batch-size", type=int, default=128)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", help="write the last checkpoint here")
    parser.add_argument("--pretrained", help="start from the weights of this checkpoint")
    return parse_options(parser, argv)


def build(args, local_rank, world_size):
    model = SmallResNet(width=args.width)
    if args.pretrained:
        where = f"cuda:{local_rank}" if args.device == "cuda" else "cpu"
        model.load_state_dict(torch.load(args.pretrained, map_location=where, weights_only=True)["model"])
    if args.device == "cpu":
        return nn.parallel.DistributedDataParallel(model) if world_size > 1 else model
    if args.sync_bn and world_size > 1:
        model = nn.SyncBatchNorm.convert_sync_batchnorm(model)
    model = model.cuda(local_rank)
    if world_size > 1:
        return nn.parallel.DistributedDataParallel(model, device_ids=[local_rank], output_device=local_rank)
    if args.data_parallel and torch.cuda.device_count() > 1:
        return nn.DataParallel(model)
    return model


def mixed(images, labels, strength):
    """Mixup: every image blended with another, and the loss with it."""
    real = torch.cuda.FloatTensor if images.is_cuda else torch.FloatTensor
    weight = real(1).fill_(strength * torch.rand(()).item())
    other = torch.randperm(images.size(0), device=images.device)
    return images * (1 - weight) + images[other] * weight, labels, labels[other], weight


def train_epoch(model, loader, criterion, optimizer, scaler, args):
    model.train()
    total, seen = 0.0, 0
    for images, labels in loader:
        images, first, second, weight = mixed(images, labels, args.mixup)
        optimizer.zero_grad(set_to_none=True)
        with autocast(enabled=args.amp):
            outputs = model(images)
            loss = ((1 - weight) * criterion(outputs, first) + weight * criterion(outputs, second)).mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        total, seen = total + loss.item() * images.size(0), seen + images.size(0)
    return total / seen


@torch.no_grad()
def accuracy(model, loader, device):
    model.eval()
    counts = torch.zeros(2, device=device)
    for images, labels in loader:
        right = model(images).argmax(1) == labels
        counts += torch.stack((right.sum(), torch.tensor(labels.numel(), device=device)))
    if dist.is_initialized():
        dist.all_reduce(counts)
    return (counts[0] / counts[1]).item()


def main(argv=None):
    args = parse(argv)
    if args.gpus:
        os.environ["CUDA_VISIBLE_DEVICES"] = args.gpus
    if args.device == "cuda":
        assert torch.cuda.is_available(), "no GPU is visible"
        assert args.dist_backend != "nccl" or dist.is_nccl_available(), "this torch was built without NCCL"
    else:
        args.dist_backend, args.amp = "gloo", False
    rank, local_rank, world_size = distributed.setup(args.dist_backend)
    device = torch.device(f"cuda:{local_rank}" if args.device == "cuda" else "cpu")
    checkpoint.seed_everything(args.seed)

    model = build(args, local_rank, world_size)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
    if args.device == "cuda":
        criterion = criterion.cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, weight_decay=5e-4, nesterov=True)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.epochs)
    scaler = GradScaler(enabled=args.amp)

    loaders = []
    for dataset, training in zip(datasets(args), (True, False)):
        sampler = DistributedSampler(dataset, world_size, rank, shuffle=training, seed=args.seed)
        loader = DataLoader(
            dataset, args.batch_size, sampler=sampler, num_workers=args.workers, pin_memory=args.device == "cuda"
        )
        loaders.append(Prefetcher(loader, device) if args.device == "cuda" else loader)
    train_loader, test_loader = loaders

    for epoch in range(args.epochs):
        loss = train_epoch(model, train_loader, criterion, optimizer, scaler, args)
        score = accuracy(model, test_loader, device)
        schedule.step()
        loss = distributed.mean_over_ranks(loss, device)
        if distributed.is_main():
            print(f"epoch {epoch} loss {loss:.4f} accuracy {score:.3f} peak {peak_memory_mib(device):.0f} MiB")
        torch.cuda.empty_cache()

    if args.out and distributed.is_main():
        checkpoint.save(args.out, model, optimizer, scaler, args.epochs)
    distributed.barrier()
    distributed.cleanup()


if __name__ == "__main__":
    main()
