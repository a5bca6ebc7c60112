import torch
from torch.distributed.fsdp import FullyShardedDataParallel, MixedPrecision


def wrap(model, loader, optimizer):
    policy = MixedPrecision(param_dtype=torch.bfloat16, reduce_dtype=torch.bfloat16)  # expect: advice gradient-reduction-type
    model = FullyShardedDataParallel(model.cuda(), mixed_precision=policy)
    for x in loader:
        model(x.cuda()).sum().backward()
        optimizer.step()
