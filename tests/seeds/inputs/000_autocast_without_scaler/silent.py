import torch


# bfloat16 in the step; float16 where no gradient is taken
def train(model, loader, optimizer, criterion):
    for x, y in loader:
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = criterion(model(x.cuda()), y.cuda())
        loss.backward()
        optimizer.step()


@torch.no_grad()
def validate(model, loader):
    for x, _ in loader:
        with torch.autocast("cuda", dtype=torch.float16):
            yield model(x.cuda())
