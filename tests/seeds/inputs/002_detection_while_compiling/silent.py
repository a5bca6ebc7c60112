import os

import torch
import torch_npu

os.environ["NPU_ASD_CONFIG"] = "enable:true"
torch.npu.set_compile_mode(jit_compile=False)


def train(model, loader, opt):
    for x in loader:
        model(x.npu().bfloat16()).sum().backward()
        opt.step()
