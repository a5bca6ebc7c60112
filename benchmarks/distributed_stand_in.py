"""Imported first by a script that runs on one card, and distributed over two ranks. What would make both runs two different ones goes:
the order of a shuffled loader is the one that DistributedSampler draws, a sample depends on its number alone, dropout and noise are
off, batch norm uses its running statistics. DISTRIBUTED_EPOCH is the number of the first epoch."""

from __future__ import annotations

import contextlib
import os
import random

import torch
import torch.nn.functional as F
from torch.utils.data import RandomSampler
from torch.utils.data._utils.fetch import _MapDatasetFetcher

with contextlib.suppress(ImportError):
    import stand_in  # noqa: F401

import numpy

torch.manual_seed(7)
random.seed(7)
numpy.random.seed(7)
passes = int(os.environ.get("DISTRIBUTED_EPOCH", "0"))


def order(self):
    global passes
    generator = torch.Generator()
    generator.manual_seed(passes)
    passes += 1
    yield from torch.randperm(len(self.data_source), generator=generator).tolist()


def fetch(self, numbers):
    state = torch.get_rng_state(), random.getstate(), numpy.random.get_state()
    samples = []
    for number in numbers:
        torch.default_generator.manual_seed(number)  # not that of the device
        random.seed(number)
        numpy.random.seed(number)
        samples.append(self.dataset[number])
    torch.set_rng_state(state[0])
    random.setstate(state[1])
    numpy.random.set_state(state[2])
    return self.collate_fn(samples)


def still(shape):
    size = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list, torch.Size)) else shape
    return torch.full(tuple(size), 0.5)


def batch_norm(self, x):
    return F.batch_norm(x, self.running_mean, self.running_var, self.weight, self.bias, False, 0.0, self.eps)


def made_up(size, mode, classes):
    """A dataset of torchvision whose pictures are noise."""

    class Pictures(torch.utils.data.Dataset):
        def __init__(self, root="", *args, transform=None, target_transform=None, **options):
            self.transform = transform or (lambda image: image)
            self.data = torch.randint(
                0, 256, (400, *size), dtype=torch.uint8, generator=torch.Generator().manual_seed(3)
            )
            self.targets = torch.arange(400) % classes

        def __len__(self):
            return 400

        def __getitem__(self, number):
            from PIL import Image

            return self.transform(Image.fromarray(self.data[number].numpy(), mode)), int(self.targets[number])

    return Pictures


with contextlib.suppress(ImportError):
    import torchvision.datasets as vision

    vision.MNIST, vision.CelebA = made_up((28, 28), "L", 10), made_up((72, 64, 3), "RGB", 2)
    vision.CIFAR10, vision.CIFAR100 = made_up((32, 32, 3), "RGB", 10), made_up((32, 32, 3), "RGB", 100)


class Terminal:
    """What `stty size` says where there is a terminal."""

    def read(self):
        return "24 80"


popen = os.popen
os.popen = lambda command, *args: Terminal() if command.startswith("stty") else popen(command, *args)
RandomSampler.__iter__ = order
_MapDatasetFetcher.fetch = fetch
F.dropout = F.dropout2d = F.dropout3d = lambda x, *args, **options: x
for kind in (torch.nn.Dropout, torch.nn.Dropout2d, torch.nn.Dropout3d, torch.nn.AlphaDropout):
    kind.forward = lambda self, x: x
torch.nn.modules.batchnorm._BatchNorm.forward = batch_norm
with contextlib.suppress(ImportError):
    import timm.layers.drop

    timm.layers.drop.DropPath.forward = lambda self, x: x
if os.environ.get("DISTRIBUTED_STILL"):
    torch.randn = lambda *shape, device=None, dtype=None, **options: still(shape).to(device or "cpu")
    torch.randn_like = torch.rand_like = lambda x, **options: torch.full_like(x, 0.5)
