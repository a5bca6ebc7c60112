import torch

# bfloat16 needs no scale, and the switch is the user's
scaler = torch.cuda.amp.GradScaler(enabled=args.fp16)
no_scaler = torch.cuda.amp.GradScaler(enabled=False)


def train(model, loader, optimizer, criterion):
    for x, y in loader:
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = criterion(model(x.cuda()), y.cuda())
        loss.backward()
        optimizer.step()
