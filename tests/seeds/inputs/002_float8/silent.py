import torch


def cast(weight):
    return weight.cuda().to(torch.bfloat16)
