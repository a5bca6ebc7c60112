"""A folder with one training script, and what `porter migrate --distribute` makes of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import Answer, Porter, write

HEAD = """import torch
from torch.utils.data import DataLoader

"""
PLAIN = (
    HEAD
    + """
def train(model, loader, optimizer, epoch):
    model.train()
    total, seen = 0.0, 0
    for number, (x, y) in enumerate(loader):
        loss = torch.nn.functional.cross_entropy(model(x.cuda()), y.cuda())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
        seen += y.size(0)
        if number % 10 == 0:
            print(f"{epoch} {loss.item():.4f}")


def main():
    data = [(torch.randn(4), 0) for _ in range(32)]
    loader = DataLoader(data, batch_size=8, shuffle=True)  # all of it
    model = torch.nn.Linear(4, 2)
    model = model.cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(2):
        train(model, loader, optimizer, epoch)
    torch.save(model.state_dict(), "model.pt")


if __name__ == "__main__":
    main()
"""
)


class Project:
    """A folder with one script, and what porter makes of it."""

    def __init__(self, patch: pytest.MonkeyPatch, folder: Path):
        (folder / ".git").mkdir(parents=True)
        self.folder, self.porter = folder, Porter(patch, folder)

    def write(self, text: str = PLAIN, **others: str) -> None:
        write(self.folder, {"train.py": text, **{f"{name}.py": other for name, other in others.items()}})

    def distribute(self, *words: str) -> Answer:
        return self.porter("migrate", "--distribute", "train.py", *words)

    def inplace(self, text: str = PLAIN, **others: str) -> Answer:
        self.write(text, **others)
        return self.distribute("--unsafe", "--inplace", "--allow-dirty")

    def written(self, text: str, **others: str) -> str:
        done = self.inplace(text, **others)
        assert done.code == 0, done.err
        return self.text

    @property
    def text(self) -> str:
        return (self.folder / "train.py").read_text()

    def other(self, name: str) -> str:
        return (self.folder / f"{name}.py").read_text()

    def has(self, name: str) -> bool:
        return (self.folder / name).exists()
