import torch
from apex import amp  # expect: PRT355 # says: nothing in the file uses `apex.amp`


def train(model, loader, optimizer):
    for x in loader:
        model(x.cuda()).sum().backward()
        optimizer.step()
