import torch
from torch.utils.data import DataLoader


def train(model, dataset, optimizer):
    loader = DataLoader(dataset, batch_size=8, shuffle=True, num_workers=4, pin_memory=True)
    for x, y in loader:
        x = x.cuda()  # expect: PRT643
        y = y.to("cuda")  # expect: PRT643
        (model(x) - y).square().mean().backward()
        optimizer.step()
