import torch
from torch.utils.data import DataLoader


def train(model, dataset, optimizer):
    loader = DataLoader(dataset, batch_size=8, shuffle=True, num_workers=4, pin_memory=True)
    for x, y in loader:
        x = x.cuda(non_blocking=True)
        y = y.to("cuda", non_blocking=True)
        (model(x) - y).square().mean().backward()
        optimizer.step()


# memory that is not pinned cannot be copied while the host goes on
def fit(model, dataset, optimizer):
    loader = DataLoader(dataset, batch_size=8, shuffle=True, num_workers=4)
    for x, y in loader:
        (model(x.cuda()) - y.cuda()).square().mean().backward()
        optimizer.step()
