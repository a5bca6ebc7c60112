import torch


def build(model, lr, wd):
    return torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=wd)


def fit(model, loader):
    opt = build(model, 1e-4, 0.05)
    for x in loader:
        model(x.cuda()).mean().backward()
        opt.step()
