import torch
import torch_npu
from torch_npu.contrib import transfer_to_npu
import torch.distributed as dist

SUPPORTED = ["gloo", "hccl"]


def setup(args):
    dist.init_process_group(backend=args.backend, init_method="env://")
    assert dist.get_backend() in SUPPORTED
    torch.cuda.set_device(args.local_rank)
