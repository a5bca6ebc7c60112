"""Images: CIFAR-10 through torchvision, or stripes whose direction is the label."""

import math

import torch
from torch.utils.data import Dataset


class Stripes(Dataset):
    def __init__(self, items, classes=10, size=32):
        self.items, self.classes, self.size = items, classes, size

    def __len__(self):
        return self.items

    def __getitem__(self, index):
        label = index % self.classes
        noise = torch.Generator().manual_seed(index)
        angle = math.pi * label / self.classes
        y, x = torch.meshgrid(torch.arange(self.size), torch.arange(self.size), indexing="ij")
        stripes = torch.sin((x * math.cos(angle) + y * math.sin(angle)) * 0.8)
        return stripes.expand(3, -1, -1) + 0.3 * torch.randn(3, self.size, self.size, generator=noise), label


def datasets(args):
    if args.synthetic:
        return Stripes(args.synthetic), Stripes(max(args.synthetic // 4, 1))
    from torchvision import transforms
    from torchvision.datasets import CIFAR10

    normalise = [transforms.ToTensor(), transforms.Normalize((0.49, 0.48, 0.45), (0.25, 0.24, 0.26))]
    augment = [transforms.RandomCrop(32, padding=4), transforms.RandomHorizontalFlip()]
    train = CIFAR10(args.data, train=True, transform=transforms.Compose(augment + normalise))
    return train, CIFAR10(args.data, train=False, transform=transforms.Compose(normalise))


class Prefetcher:
    """Copies the next batch to the GPU on a stream of its own while the current one is computed on."""

    def __init__(self, loader, device):
        self.loader, self.device = loader, device
        self.stream = torch.cuda.Stream(device)

    def __len__(self):
        return len(self.loader)

    def __iter__(self):
        ready = None
        for images, labels in self.loader:
            with torch.cuda.stream(self.stream):
                coming = images.cuda(self.device, non_blocking=True), labels.cuda(self.device, non_blocking=True)
            if ready is not None:
                yield ready
            torch.cuda.current_stream(self.device).wait_stream(self.stream)
            for tensor in coming:
                tensor.record_stream(torch.cuda.current_stream(self.device))
            ready = coming
        if ready is not None:
            yield ready
