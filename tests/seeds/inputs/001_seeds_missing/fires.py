import torch


def train(model, loader, optimizer):
    for x in loader:
        model(x.cuda()).sum().backward()  # expect: advice seeds-missing
        optimizer.step()
