import os

os.environ["ASCEND_GLOBAL_LOG_LEVEL"] = "1"  # expect: advice log-level-low

import torch
import torch_npu


def train(model, loader, opt):
    for x in loader:
        model(x.npu()).sum().backward()
        opt.step()
