import torch
import torch.distributed as dist
from datasets import load_dataset


def prepare(tokenizer, path):
    data = load_dataset("json", data_files=path)["train"]
    if dist.get_rank() == 0:
        data = data.map(lambda row: tokenizer(row["text"]), num_proc=16)  # expect: advice ranks-wait-for-the-first
        data.save_to_disk("cache")
    dist.barrier()


def train(model, loader, opt):
    dist.init_process_group("nccl")
    for x in loader:
        model(x.cuda()).sum().backward()
        opt.step()
