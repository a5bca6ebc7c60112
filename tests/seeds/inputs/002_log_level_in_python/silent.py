import os

os.environ["ASCEND_GLOBAL_LOG_LEVEL"] = "3"

import torch
import torch_npu


def train(model, loader, opt):
    for x in loader:
        model(x.npu()).sum().backward()
        opt.step()
