import time

import torch


# timed, now and then, or behind the loop: somebody wants the wait
def train(model, loader, optimizer, criterion):
    for step, (x, y) in enumerate(loader):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        loss = criterion(model(x.cuda()), y.cuda())
        loss.backward()
        torch.cuda.synchronize()
        spent = time.perf_counter() - begin
        optimizer.step()
        if step % 100 == 0:
            torch.cuda.synchronize()
            print(step, spent)
    torch.cuda.synchronize()
