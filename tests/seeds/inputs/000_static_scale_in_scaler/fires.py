import torch

scaler = torch.cuda.amp.GradScaler(init_scale=1024.0, growth_interval=10**9)  # expect: advice loss-scale-dynamic


def train(model, loader, optimizer, criterion):
    for x, y in loader:
        with torch.cuda.amp.autocast():
            loss = criterion(model(x.cuda()), y.cuda())
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
