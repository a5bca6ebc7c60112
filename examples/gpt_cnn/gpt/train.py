"""Train a small GPT on one device, or with DDP under torchrun."""

import argparse
import math
from contextlib import nullcontext
from dataclasses import dataclass, fields

import torch
from torch.nn.parallel import DistributedDataParallel as DDP

from common import checkpoint, distributed
from common.config import parse_options
from common.device import allow_tf32, compute_dtype, describe, pick_device
from common.meters import Throughput, peak_memory_mib, profiled
from gpt.data import Sums, TokenFile, batches, decode, encode
from gpt.model import GPT


@dataclass
class Config:
    device: str = "cuda"
    backend: str = "nccl"
    precision: str = "auto"
    data: str = ""
    out: str = ""
    resume: str = ""
    steps: int = 200
    batch_size: int = 32
    accumulate: int = 1
    workers: int = 0
    lr: float = 1e-3
    warmup: int = 20
    clip: float = 1.0
    layers: int = 4
    heads: int = 4
    width: int = 128
    context: int = 64
    seed: int = 1337
    log_every: int = 10
    compile: bool = False


def parse(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    for field in fields(Config):
        kind = {bool: lambda text: text.lower() in ("1", "true", "yes")}.get(field.type, field.type)
        parser.add_argument("--" + field.name.replace("_", "-"), type=kind, default=field.default)
    args = parse_options(parser, argv)
    del args.config
    return Config(**vars(args))


def learning_rate(step, config):
    if step < config.warmup:
        return config.lr * (step + 1) / config.warmup
    progress = (step - config.warmup) / max(config.steps - config.warmup, 1)
    return config.lr * (0.1 + 0.45 * (1 + math.cos(math.pi * min(progress, 1.0))))


def main(argv=None):
    config = parse(argv)
    backend = config.backend if config.device.startswith("cuda") else "gloo"
    rank, local_rank, world_size = distributed.setup(backend)
    device = pick_device(config.device, local_rank)
    dtype = compute_dtype(config.precision, device)
    checkpoint.seed_everything(config.seed + rank)
    allow_tf32()
    if distributed.is_main():
        print(f"training on {describe(device)} x {world_size} in {dtype}")

    dataset = TokenFile(config.data, config.context) if config.data else Sums(config.context)
    model = GPT(dataset.vocabulary, config.context, config.layers, config.heads, config.width).to(device)
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=config.lr, betas=(0.9, 0.95), weight_decay=0.1, fused=device.type == "cuda"
    )
    scaler = torch.amp.GradScaler("cuda", enabled=dtype == torch.float16)
    first = checkpoint.load(config.resume, model, optimizer, scaler, device) if config.resume else 0
    if config.compile:
        model = torch.compile(model)
    if world_size > 1:
        model = DDP(model, device_ids=[local_rank] if device.type == "cuda" else None)

    if device.type == "cuda":
        autocast = torch.amp.autocast(device_type="cuda", dtype=dtype, enabled=dtype != torch.float32)
    else:
        autocast = nullcontext()
    source = batches(dataset, config.batch_size, config.workers, rank, world_size, config.seed)
    speed = Throughput(device)
    model.train()
    for step in range(first, config.steps):
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(step, config)
        total = 0.0
        for micro in range(config.accumulate):
            last = micro == config.accumulate - 1
            tokens, targets = (t.to(device, non_blocking=True) for t in next(source))
            with profiled("forward", device), autocast:
                loss = model(tokens, targets) / config.accumulate
            with profiled("backward", device), nullcontext() if last or world_size == 1 else model.no_sync():
                scaler.scale(loss).backward()
            total += loss.detach()
            speed.add(tokens.numel())
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), config.clip)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad(set_to_none=True)
        if step % config.log_every == 0 or step == config.steps - 1:
            loss = distributed.mean_over_ranks(total.item(), device)
            if distributed.is_main():
                memory = peak_memory_mib(device)
                print(f"step {step} loss {loss:.4f} {speed.report():.0f} tokens/s per rank, peak {memory:.0f} MiB")

    if config.out and distributed.is_main():
        checkpoint.save(config.out, model, optimizer, scaler, config.steps)
    if not config.data and distributed.is_main():
        model.eval()
        prompt = torch.tensor([encode("12+34=")], device=device)
        print(repr(decode(checkpoint.unwrap(model).generate(prompt, 3)[0].tolist())))
    distributed.barrier()
    distributed.cleanup()


if __name__ == "__main__":
    main()
