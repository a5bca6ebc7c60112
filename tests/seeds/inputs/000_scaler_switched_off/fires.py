import torch

scaler = torch.cuda.amp.GradScaler(enabled=False)


def train(model, loader, optimizer, criterion):
    for x, y in loader:
        with torch.autocast("cuda", dtype=torch.float16):  # expect: advice loss-scale-missing
            loss = criterion(model(x.cuda()), y.cuda())
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
