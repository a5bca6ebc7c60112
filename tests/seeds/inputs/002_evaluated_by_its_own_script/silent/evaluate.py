import torch

from model import Net

net = Net()
net.load_state_dict(torch.load("net.pth", map_location="cpu"))
net.eval()
with torch.no_grad():
    for x, y in loader:
        print((net(x).argmax(1) == y).float().mean())
