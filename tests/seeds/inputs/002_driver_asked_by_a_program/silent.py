import subprocess

import torch


def free_card():
    text = subprocess.check_output(["free", "-m"], text=True)
    print(text)
    return torch.device("cuda:0")
