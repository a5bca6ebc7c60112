import torch


def train(model, loader, optimizer, criterion):
    for x, y in loader:
        loss = criterion(model(x.cuda()), y.cuda())
        if torch.isnan(loss):  # expect: PRT630
            continue
        loss.backward()
        optimizer.step()
