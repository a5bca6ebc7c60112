import torch


def build(model, lr, wd):
    skip = ("bias", "norm.weight")
    return torch.optim.AdamW(
        [
            {"params": [p for n, p in model.named_parameters() if not n.endswith(skip)], "weight_decay": wd},
            {"params": [p for n, p in model.named_parameters() if n.endswith(skip)], "weight_decay": 0.0},  # expect: advice parameter-groups
        ],
        lr=lr,
    )


def fit(model, loader):
    opt = build(model, 1e-4, 0.05)
    for x in loader:
        model(x.cuda()).mean().backward()
        opt.step()
