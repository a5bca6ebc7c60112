import torch


def local_norms(model):
    return {name: p.grad.norm(2).item() for name, p in model.named_parameters() if p.grad is not None}


def train(model, loader, opt, log):
    for step, x in enumerate(loader):
        model(x.cuda()).sum().backward()
        norms = {}
        for name, p in model.named_parameters():
            norms[name] = torch.norm(p.grad, 2).item()  # expect: PRT630
        log.write(str(norms))
        opt.step()
        opt.zero_grad()
