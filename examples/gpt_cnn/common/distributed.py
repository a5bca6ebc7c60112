"""Process groups as torchrun sets them up, and the few collectives the trainings need."""

import os
from datetime import timedelta

import torch
import torch.distributed as dist


def launched():
    return int(os.environ.get("WORLD_SIZE", "1")) > 1


def setup(backend="nccl", timeout_minutes=30):
    """Join the process group. Returns (rank, local rank, world size)."""
    if not launched():
        return 0, 0, 1
    local_rank = int(os.environ["LOCAL_RANK"])
    if backend == "nccl":
        os.environ.setdefault("NCCL_DEBUG", "WARN")
        os.environ.setdefault("TORCH_NCCL_ASYNC_ERROR_HANDLING", "1")
        torch.cuda.set_device(local_rank)
    dist.init_process_group(backend=backend, timeout=timedelta(minutes=timeout_minutes))
    return dist.get_rank(), local_rank, dist.get_world_size()


def cleanup():
    if dist.is_initialized():
        dist.destroy_process_group()


def is_main():
    return not dist.is_initialized() or dist.get_rank() == 0


def barrier():
    if not dist.is_initialized():
        return
    if dist.get_backend() == "nccl":
        dist.barrier(device_ids=[torch.cuda.current_device()])
    else:
        dist.barrier()


def mean_over_ranks(value, device):
    """The mean of a Python number over all ranks."""
    if not dist.is_initialized():
        return value
    total = torch.tensor([float(value)], device=device)
    dist.all_reduce(total, op=dist.ReduceOp.SUM)
    return total.item() / dist.get_world_size()
