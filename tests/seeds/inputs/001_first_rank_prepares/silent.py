import torch
import torch.distributed as dist
from datasets import load_dataset, load_from_disk


# the data was made by a program of its own
def prepare(path):
    data = load_from_disk(path)
    if dist.get_rank() == 0:
        print(len(data))
    dist.barrier()
    return data


def train(model, loader, opt):
    dist.init_process_group("nccl")
    for x in loader:
        model(x.cuda()).sum().backward()
        opt.step()
