import torch


def train(model, loader, opt):
    for x, y in loader:
        torch.nn.functional.nll_loss(model(x.cuda()), y.cuda()).backward()
        opt.step()


@torch.no_grad()
def test(model, loader):  # expect: advice evaluation-apart
    model.eval()
    right = 0
    for x, y in loader:
        right += (model(x.cuda()).argmax(1) == y.cuda()).sum()
    print(f"accuracy {right.item() / len(loader.dataset):.4f}")
