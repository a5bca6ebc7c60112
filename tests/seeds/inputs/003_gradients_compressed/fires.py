import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
from torch.nn.parallel import DistributedDataParallel as DDP


def wrap(model, local_rank):
    dist.init_process_group("nccl")
    ddp = DDP(model.cuda(local_rank), device_ids=[local_rank])
    ddp.register_comm_hook(None, default_hooks.bf16_compress_hook)  # expect: advice gradient-reduction-type
    return ddp


def step(ddp, x, opt):
    ddp(x).sum().backward()
    opt.step()
