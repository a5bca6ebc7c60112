import os

import torch
import torch.distributed as dist


def main(model, loader, optimizer, seed):
    os.environ["HCCL_DETERMINISTIC"] = "true"
    torch.manual_seed(seed)
    torch.use_deterministic_algorithms(True)
    dist.init_process_group("nccl")
    ddp = torch.nn.parallel.DistributedDataParallel(model.cuda())
    for x in loader:
        ddp(x.cuda()).sum().backward()
        optimizer.step()
