import subprocess

import torch


def free_card():
    text = subprocess.check_output(
        ["nvidia-smi", "--query-gpu=memory.free", "--format=csv,noheader,nounits"], text=True  # expect: PRT145
    )
    free = [int(line) for line in text.splitlines()]
    return torch.device(f"cuda:{free.index(max(free))}")
