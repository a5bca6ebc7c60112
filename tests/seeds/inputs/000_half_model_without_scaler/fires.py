import torch


def train(model, loader, criterion):
    model = model.cuda().half()  # expect: advice loss-scale-missing
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in loader:
        loss = criterion(model(x.cuda().half()), y.cuda())
        loss.backward()
        optimizer.step()
