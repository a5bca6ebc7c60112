import torch
from torch import nn
from torch.utils.data import DataLoader


def main(data):
    loader = DataLoader(data, batch_size=128, shuffle=True, num_workers=4, pin_memory=True, drop_last=True)
    net = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 16)).cuda()
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for x, y in loader:
        nn.functional.cross_entropy(net(x.cuda(non_blocking=True)), y.cuda(non_blocking=True)).backward()
        opt.step()
