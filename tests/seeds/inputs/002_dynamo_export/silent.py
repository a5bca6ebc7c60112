import torch


def export(model, x):
    torch.save(model.cuda().state_dict(), "model.pth")
