import argparse

import torch
import torchvision

parser = argparse.ArgumentParser()
parser.add_argument("--channels-last", action="store_true")
args = parser.parse_args()

layout = torch.preserve_format if args.channels_last else torch.contiguous_format
model = torchvision.models.resnet18().cuda().to(memory_format=layout)
for images, target in loader:
    images = images.cuda(non_blocking=True).contiguous(memory_format=layout)
    torch.nn.functional.cross_entropy(model(images), target.cuda()).backward()
