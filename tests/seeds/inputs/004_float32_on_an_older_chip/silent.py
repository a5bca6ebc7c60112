# soc: A2
import torch
from torch import nn

net = nn.Sequential(nn.Conv2d(3, 16, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.LazyLinear(16)).cuda()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for x, y in loader:
    nn.functional.cross_entropy(net(x.cuda()), y.cuda()).backward()
    opt.step()
