import torch
from torch import nn


def train(net, data, opt):
    net = torch.compile(net.cuda())  # expect: PRT503
    for x, lengths in data:
        x = x[:, : int(lengths.max())].cuda()
        net(x).mean().backward()
        opt.step()
