import torch
import torch.distributed as dist
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP


def main(model, loader, local_rank):
    dist.init_process_group("nccl")
    torch.cuda.set_device(local_rank)
    model = FSDP(model, device_id=local_rank)  # expect: advice parallelism-one-at-a-time
    opt = torch.optim.AdamW(model.parameters(), lr=1e-4, betas=(0.9, 0.95))
    for x in loader:
        model(x.cuda()).sum().backward()
        opt.step()
