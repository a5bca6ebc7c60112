import torch
import torchvision


def main():
    model = torchvision.models.resnet50()
    model.load_state_dict(torch.load("best.pth", map_location="cpu"))
    model.eval()
    dummy = torch.randn(1, 3, 224, 224)
    torch.jit.save(torch.jit.trace(model, dummy), "resnet50.pt")


main()
