import torch


def fit(model, x, y, optimizer, criterion):
    left = 300
    while left > 3:
        optimizer.zero_grad()
        loss = criterion(model(x.cuda()), y.cuda())
        loss.backward()
        optimizer.step()
        left -= 1
