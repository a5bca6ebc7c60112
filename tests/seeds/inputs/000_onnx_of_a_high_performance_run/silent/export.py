import torch

from train import build

net = build()
torch.save(net.state_dict(), "net.pt")
