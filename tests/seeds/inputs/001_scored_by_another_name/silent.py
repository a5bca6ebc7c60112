import torch


def train(model, loader, opt):
    for x, y in loader:
        torch.nn.functional.nll_loss(model(x.cuda()), y.cuda()).backward()
        opt.step()


def test_loader_is_not_empty(loader):
    assert len(loader)
