import os

import torch
import torch.distributed as dist


def setup():
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group(backend="nccl", init_method="env://")
    return local_rank


def is_main():
    return not dist.is_initialized() or dist.get_rank() == 0


def reduce_mean(tensor):
    if not dist.is_initialized():
        return tensor
    assert tensor.is_cuda
    tensor = tensor.clone()
    dist.all_reduce(tensor, op=dist.ReduceOp.SUM)
    return tensor / dist.get_world_size()


def cleanup():
    dist.destroy_process_group()
