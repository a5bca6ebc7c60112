import torch


def train(model, loader, optimizer, criterion):
    copies = torch.cuda.Stream()
    done = torch.cuda.Event()
    for x, y in loader:
        with torch.cuda.stream(copies):
            x = x.cuda(non_blocking=True)
            done.record()
        copies.synchronize()  # expect: PRT630
        loss = criterion(model(x), y.cuda())
        loss.backward()
        done.synchronize()  # expect: PRT630
        optimizer.step()
