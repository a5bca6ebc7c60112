import os

os.environ["ASCEND_LAUNCH_BLOCKING"] = "1"  # expect: advice launch-blocking-left-on

import torch
import torch_npu


def train(model, loader, opt):
    for x in loader:
        model(x.npu()).sum().backward()
        opt.step()
