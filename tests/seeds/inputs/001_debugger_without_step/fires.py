import torch
from msprobe.pytorch import PrecisionDebugger

debugger = PrecisionDebugger(config_path="./config_pt.json")


def train(model, loader, optimizer):
    for step, x in enumerate(loader):
        if step == 1:
            debugger.start()  # expect: advice debugger-without-step
        model(x.npu()).sum().backward()
        optimizer.step()
        if step == 1:
            debugger.stop()
