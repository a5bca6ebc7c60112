import torch
from torch import nn


def finetune(model, head, loader):
    trained = filter(lambda p: p.requires_grad, model.parameters())  # expect: advice frozen-parameters
    opt = torch.optim.SGD(trained, lr=0.01, momentum=0.9, weight_decay=5e-4)
    for x, y in loader:
        nn.functional.cross_entropy(model(x.cuda()), y.cuda()).backward()
        opt.step()
        opt.zero_grad()
