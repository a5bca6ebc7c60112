import torch


def main(model, loader, opt):
    for x in loader:
        model(x.cuda()).sum().backward()
        opt.step()


if __name__ == "__main__":
    main(*build())
