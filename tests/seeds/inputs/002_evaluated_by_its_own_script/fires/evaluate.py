import torch

from model import Net

net = Net()
net.load_state_dict(torch.load("net.pth"))  # expect: PRT901
net.eval()
with torch.no_grad():
    for x, y in loader:
        print((net(x).argmax(1) == y).float().mean())
