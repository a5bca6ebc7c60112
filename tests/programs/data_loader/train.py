"""A DataLoader with workers and pinned memory, and a prefetcher on a side stream."""

import random

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset


class Noise(Dataset):
    """Images drawn when asked for: what a worker draws depends on how it was seeded."""

    def __init__(self, size):
        self.size = size

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        image = np.random.rand(3, 12, 12).astype(np.float32)
        if random.random() < 0.5:
            image = image[:, :, ::-1].copy()
        return torch.from_numpy(image), index % 3


def seed_worker(worker_id):
    seed = torch.initial_seed() % 2 ** 32
    np.random.seed(seed)
    random.seed(seed)


class Prefetcher:
    def __init__(self, loader):
        self.loader = iter(loader)
        self.stream = torch.cuda.Stream()
        self.mean = torch.tensor([0.5, 0.4, 0.3]).cuda().view(1, 3, 1, 1)
        self.preload()

    def preload(self):
        try:
            self.images, self.labels = next(self.loader)
        except StopIteration:
            self.images = None
            return
        assert self.images.is_pinned()
        with torch.cuda.stream(self.stream):
            self.images = self.images.cuda(non_blocking=True)
            self.labels = self.labels.cuda(non_blocking=True)
            self.images = self.images.float().sub_(self.mean)

    def next(self):
        torch.cuda.current_stream().wait_stream(self.stream)
        images, labels = self.images, self.labels
        if images is not None:
            images.record_stream(torch.cuda.current_stream())
            self.preload()
        return images, labels


def main():
    torch.manual_seed(31)
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3, stride=2), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(2),
        torch.nn.Flatten(), torch.nn.Linear(32, 3),
    ).cuda()
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)
    loader = DataLoader(
        Noise(48), batch_size=6, shuffle=True, num_workers=2, pin_memory=True, worker_init_fn=seed_worker,
        generator=torch.Generator().manual_seed(4), persistent_workers=True, drop_last=True,
    )
    prefetcher = Prefetcher(loader)
    images, labels = prefetcher.next()
    step = 0
    while images is not None:
        loss = torch.nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        print(f"iter {step}: loss = {loss.item():.5f}")
        images, labels = prefetcher.next()


if __name__ == "__main__":
    main()
