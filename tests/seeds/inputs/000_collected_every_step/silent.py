import gc

import torch


# now and then, and once per epoch
def train(model, loader, optimizer, criterion):
    for epoch in range(9):
        for step, (x, y) in enumerate(loader):
            loss = criterion(model(x.cuda()), y.cuda())
            loss.backward()
            optimizer.step()
            if step % 500 == 0:
                gc.collect()
        gc.collect()
