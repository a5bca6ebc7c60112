import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def wrap(model, rank):
    dist.init_process_group("nccl")
    torch.cuda.set_device(rank)
    return DistributedDataParallel(
        model.cuda(rank), device_ids=[rank], bucket_cap_mb=100, gradient_as_bucket_view=True
    )
