import torch


def fit(model, x, y, optimizer, criterion):
    loss = criterion(model(x.cuda()), y.cuda())
    while loss > 3:  # expect: PRT630
        optimizer.zero_grad()
        loss = criterion(model(x.cuda()), y.cuda())
        loss.backward()
        optimizer.step()
