import math

import torch


# the number lies on the host, or is asked for now and then
def train(model, loader, optimizer, criterion, limit):
    for step, (x, y) in enumerate(loader):
        loss = criterion(model(x.cuda()), y.cuda())
        loss.backward()
        optimizer.step()
        if math.isnan(limit):
            break
        if step % 100 == 0:
            if torch.isnan(loss):
                break
