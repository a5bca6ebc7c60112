import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.fsdp import FullStateDictConfig


# each rank writes its part
def save(model, path):
    dcp.save({"model": model.state_dict()}, checkpoint_id=path)
    if dist.get_rank() == 0:
        print(path)
    dist.barrier()
