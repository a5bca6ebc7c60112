import torch


def main(model, loader, local_rank):
    torch.cuda.set_device(local_rank)
    model = model.cuda()
    opt = torch.optim.AdamW(model.parameters(), lr=1e-4, betas=(0.9, 0.95))
    for x in loader:
        model(x.cuda()).sum().backward()
        opt.step()
