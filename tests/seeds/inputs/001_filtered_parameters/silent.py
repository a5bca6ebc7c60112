import torch
from torch import nn


def finetune(model, head, loader):
    trained = [p for n, p in model.named_parameters()]
    print(sum(p.numel() for p in trained))
    opt = torch.optim.SGD(trained, lr=0.01, momentum=0.9, weight_decay=5e-4)
    for x, y in loader:
        nn.functional.cross_entropy(model(x.cuda()), y.cuda()).backward()
        opt.step()
        opt.zero_grad()
