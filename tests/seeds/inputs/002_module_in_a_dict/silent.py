import torch


def finish(model, optimizer, loader):
    model.train()
    for x in loader:
        model(x.cuda()).sum().backward()
        optimizer.step()
    torch.save({"model": model.state_dict(), "epoch": 3}, "last.pth")
