import torch

# grows again after two thousand steps: torch's own default
scaler = torch.cuda.amp.GradScaler(init_scale=65536.0, growth_interval=2000)


def train(model, loader, optimizer, criterion):
    for x, y in loader:
        with torch.cuda.amp.autocast():
            loss = criterion(model(x.cuda()), y.cuda())
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
