import torch

from train import build

net = build()
torch.onnx.export(net, torch.zeros(8, 16), "net.onnx")  # expect: advice export-in-the-same-mode # says: --op_select_implmode=high_performance
