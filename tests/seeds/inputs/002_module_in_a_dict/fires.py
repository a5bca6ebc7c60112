import torch


def finish(model, optimizer, loader):
    model.train()
    for x in loader:
        model(x.cuda()).sum().backward()
        optimizer.step()
    torch.save({"model": model, "epoch": 3}, "last.pth")  # expect: PRT902
