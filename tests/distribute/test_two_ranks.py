"""A distributed script on two ranks of the virtual NPU computes what the original computes on one."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import Porter
from virtual_device import VirtualNpu

from porter.verify.launch import Limits, Outcome, run

pytestmark = pytest.mark.slow

SCRIPT = """import torch
from torch.utils.data import DataLoader, TensorDataset


def main():
    torch.manual_seed(3)
    data = TensorDataset(torch.randn(24, 4), torch.arange(24) % 2)
    loader = DataLoader(data, batch_size=8)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2)).cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    for epoch in range(2):
        total, right, seen = 0.0, 0, 0
        for x, y in loader:
            x, y = x.cuda(), y.cuda()
            found = model(x)
            loss = torch.nn.functional.cross_entropy(found, y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
            right += (found.argmax(1) == y).sum().item()
            seen += y.size(0)
        print(f"epoch {epoch}: {total / len(loader):.4f} {right} of {seen}")
    torch.save(model.state_dict(), "model.pt")
    print(sorted(torch.load("model.pt")))


if __name__ == "__main__":
    main()
"""


class Runs:
    def __init__(self, npu: VirtualNpu, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self.ours, self.device = npu.warm, npu.device
        self.folder, self.patch = folder, patch
        self.old, self.new = self._tree("old"), self._tree("new")
        done = Porter(patch, self.new)("migrate", "--distribute", "train.py", "--unsafe", "--inplace", "--allow-dirty")
        assert done.code == 0, done.err

    def _tree(self, name: str) -> Path:
        tree = self.folder / name
        (tree / ".git").mkdir(parents=True)
        (tree / "train.py").write_text(SCRIPT)
        return tree

    def run(self, tree: Path, *words: str, devices: int = 1, original: bool = False) -> Outcome:
        ended = run(words, tree, tree, self.ours, self.device, Limits(300, devices=devices), original)
        assert ended.code == 0, ended.output[-2000:]
        return ended


def said(ended: Outcome) -> list[str]:
    return [line for line in ended.output.splitlines() if line.startswith(("epoch", "['"))]


def test_two_ranks_compute_what_one_device_did(
    virtual_npu: VirtualNpu, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = Runs(virtual_npu, tmp_path, monkeypatch)
    alone = runs.run(runs.old, "train.py", original=True)
    both = runs.run(runs.new, "torchrun", "--standalone", "--nproc_per_node", "2", "train.py", devices=2)
    series = both.records.series
    losses = [(a.value + b.value) / 2 for a, b in zip(series["loss"], series["loss of rank 1"])]
    assert losses == pytest.approx([point.value for point in alone.records.series["loss"]], rel=1e-5)
    assert len(losses) == 6 and series["loss"][0].value != series["loss of rank 1"][0].value
    # once, by the first rank: the means and sums of all, and the names of the weights as they were
    assert said(both) == said(alone) and "of 24" in said(both)[0]
    one = runs.run(runs.new, "train.py")  # without torchrun
    assert said(one) == said(alone)
