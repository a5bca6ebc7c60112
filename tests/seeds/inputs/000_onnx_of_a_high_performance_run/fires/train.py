import torch
import torch_npu

torch.npu.set_option({"ACL_OP_SELECT_IMPL_MODE": "high_performance"})


def train(model, loader, optimizer):
    for x in loader:
        model(x.npu()).sum().backward()
        optimizer.step()
