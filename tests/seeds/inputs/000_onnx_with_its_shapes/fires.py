import torch
import torchvision


def main():
    model = torchvision.models.resnet50()
    model.load_state_dict(torch.load("best.pth", map_location="cpu"))
    model.eval()
    dummy = torch.randn(1, 3, 224, 224)
    torch.onnx.export(  # expect: advice export-in-the-same-mode # says: --input_shape="image:1,3,224,224"
        model,
        dummy,
        "resnet50.onnx",
        input_names=["image"],
        output_names=["score"],
        opset_version=13,
    )


main()
