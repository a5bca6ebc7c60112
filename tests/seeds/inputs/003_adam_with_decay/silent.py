import torch.optim as optim


class Solver:
    def __init__(self, net, cfg):
        self.net = net.cuda()
        self.opt = optim.Adam(self.net.parameters(), lr=cfg.lr, betas=(0.9, 0.95))

    def step(self, x):
        self.opt.zero_grad()
        self.net(x.cuda()).mean().backward()
        self.opt.step()
