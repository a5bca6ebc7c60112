# soc: A2
import torch


def has_overflow(params):
    for p in params:
        if p.grad is not None:
            total = float(p.grad.float().sum())
            if total in (float("inf"), -float("inf")) or total != total:
                return True
    return False


def step(model, x, opt):
    model(x.cuda()).sum().backward()
    if not has_overflow(model.parameters()):
        opt.step()
