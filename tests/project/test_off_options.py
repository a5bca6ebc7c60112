"""What is told of a branch that no setting of the project takes goes to the inventory."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest
from command_line import Porter, write

from porter.project.off_options import OffOptions
from porter.project.unused import Uses

pytestmark = pytest.mark.slow  # each analyses a project by the command

MODEL = """import torch


class Loss(torch.nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.cfg = cfg
        self.kind = cfg.loss["kind"]

    def forward(self, x, y):
        loss = torch.nn.functional.mse_loss(x, y)
        if TEST:
            loss = loss + x[y > 0].sum() + torch.linalg.eigh(x @ y)[0].sum()
        return loss
"""
TRAIN = """import torch
from loss import Loss
from settings import cfg


def main(loader):
    loss = Loss(cfg).cuda()
    for x, y in loader:
        loss(x.cuda(), y.cuda()).backward()


if __name__ == "__main__":
    main(torch.load("batches.pt", map_location="cpu"))
"""
SETTINGS = 'cfg.loss = {"kind": "l2_with_std", "scaled": 2}\ncfg.USE_SPECTRUM = False\n'


def rests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, test: str, files: dict[str, str]) -> bool:
    porter = Porter(monkeypatch, tmp_path)
    model = MODEL.replace("TEST", test)
    write(tmp_path, {"porter.toml": "", "loss.py": model, "train.py": TRAIN, "settings.py": SETTINGS, **files})
    found = json.loads(porter("analyze", ".", "--format", "json").text)
    told = [f for f in found["findings"] if f["path"] == "loss.py" and f["line"] == 13]
    listed = [row for row in found["left_alone"] if "loss.py:13" in row["places"] and "off" in row["values"]]
    assert bool(told) != bool(listed)
    return bool(listed)


@pytest.mark.parametrize(
    "test",
    [
        'self.kind == "l2"',
        "self.cfg.use_spectrum",
        'self.cfg["use_spectrum"] and x.numel()',
        'not (self.kind != "l2" or x.numel() == 0)',
    ],
)
def test_an_option_that_is_off_in_all_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, test: str) -> None:
    assert rests(tmp_path, monkeypatch, test, {"configs/small.yaml": "use_spectrum: off\nkind: huber\n"})


HOLDS = "class Holder:\n    def __init__(self, eig_weight=1):\n        self.most_weight = eig_weight\n"


@pytest.mark.parametrize(
    "test, files, rested",
    [
        ("self.cfg.eig_weight > 1", {}, True),
        ("self.cfg.eig_weight > 1", {"configs/large.yaml": "eig_weight: 2.5  # slow\n"}, False),
        ("self.cfg.eig_weight >= 1", {}, False),
        ("self.cfg.eig_weight != 1", {}, True),
        ("not self.cfg.eig_weight == 1.0", {}, True),
        ("self.cfg.eig_weight > 1", {"sweep.py": "for cfg.eig_weight in (1, 2):\n    main(cfg)\n"}, False),
        ("self.cfg.eig_weight > 1", {"later.py": "cfg.eig_weight += 1\n"}, False),
        ("self.most_weight > 1", {"held.py": HOLDS}, True),
        ("self.most_weight > 1", {"held.py": HOLDS.replace("= eig_weight", "= eig_weight + 1")}, False),
        ("x.ndim > 1", {"grid.py": "class Grid:\n    ndim = 1\n", "configs/grid.yaml": "ndim: 1\n"}, False),
    ],
)
def test_a_number_that_all_settings_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, test: str, files: dict[str, str], rested: bool
) -> None:
    assert rests(tmp_path, monkeypatch, test, {"configs/small.yaml": "eig_weight: 1\n", **files}) is rested


def test_a_number_that_only_programs_have_may_be_handed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not rests(tmp_path, monkeypatch, "self.most_weight > 1", {"held.py": HOLDS})


@pytest.mark.parametrize(
    "test, files",
    [
        ('self.kind == "l2"', {"configs/l2.yaml": "loss:\n  kind: l2\n"}),
        ('self.kind == "l2"', {"configs/l2.py": "cfg.loss['kind'] = 'l2'\n"}),
        ('self.kind == "l2"', {"configs/chosen.py": "cfg.loss.kind = chosen()\n"}),
        ('self.kind == "l2"', {"configs/chosen.py": 'cfg.loss.kind = "l1" if cfg.small else "l2"\n'}),
        ('self.kind == "l2"', {"run.sh": "python train.py --kind l2\n"}),
        ('self.kind == "l2"', {"README.md": "Set `loss.kind=l2` to train without deviations.\n"}),
        ('self.kind == "l2_with_std"', {}),
        ('self.kind != "l2"', {}),
        ('self.kind == "l2" or x.numel()', {}),
        ("self.cfg.use_spectrum", {"configs/large.yaml": "use_spectrum: true\n"}),
        ("self.cfg.use_spectrum", {"configs/large.json": '{"use_spectrum": true}\n'}),
        ("self.cfg.use_spectrum", {"options.py": 'parser.add_argument("--use-spectrum", action="store_true")\n'}),
        ("self.cfg.use_spectrum", {"later.py": "def start(cfg, on):\n    cfg.use_spectrum |= on\n"}),
        ("self.cfg.use_spectrum", {"later.py": "cfg.use_spectrum, cfg.depth = True, 3\n"}),
        ("self.cfg.use_spectrum", {"later.py": 'setattr(cfg, "use_spectrum", True)\n'}),
        ("self.cfg.use_spectrum", {"nested.yaml": "use_spectrum:\n  kind: full\n"}),
        ("not self.cfg.use_spectrum", {}),
        ("self.cfg.unknown", {}),
    ],
)
def test_what_somebody_may_switch_on_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, test: str, files: dict[str, str]
) -> None:
    assert not rests(tmp_path, monkeypatch, test, files)


CALLED = """import torch


class Loss(torch.nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.kind = cfg.loss["kind"]

    def forward(self, x, y):
        if self.kind == "l2_with_std":
            return torch.nn.functional.mse_loss(x, y)
        elif self.kind == "l2":
            return self.by_hand(x, y)

    def by_hand(self, x, y):
        return x[y > 0].sum() + torch.linalg.eigh(x @ y)[0].sum()
"""


@pytest.mark.parametrize(
    "other, rests", [("", True), ("\n\ndef shown(loss, x):\n    return loss.by_hand(x, x)\n", False)]
)
def test_a_method_that_only_such_a_branch_calls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, other: str, rests: bool
) -> None:
    porter = Porter(monkeypatch, tmp_path)
    write(tmp_path, {"porter.toml": "", "loss.py": CALLED + other, "train.py": TRAIN, "settings.py": SETTINGS})
    found = json.loads(porter("analyze", ".", "--format", "json").text)
    options = {row["values"].get("off") for row in found["left_alone"] if "loss.py:16" in row["places"]}
    assert options == ({"Loss.by_hand"} if rests else set())
    assert any(f["path"] == "loss.py" for f in found["findings"]) != rests


def test_what_a_near_file_computes_ends_the_search():
    texts = {
        "far/a.py": b"fused = False",
        "near/b.py": b"",
        "near/c.py": b"self.fused = choose()",
        "off/d.sh": b"fused",
    }
    read = []
    uses = Uses(lambda: [*texts], lambda path: read.append(path) or texts[path])
    tree = ast.parse("if self.fused:\n    run()\n")
    assert OffOptions(uses.saying).at(tree, "near/b.py", 2) == ""
    assert read == ["near/b.py", "near/c.py"]


def test_an_option_that_is_off_everywhere_is_searched_everywhere():
    texts = {"far/a.py": b"fused = False", "near/b.py": b"", "off/d.yaml": b"fused: false"}
    uses = Uses(lambda: [*texts], texts.__getitem__)
    tree = ast.parse("if self.fused:\n    run()\n")
    assert OffOptions(uses.saying).at(tree, "near/b.py", 2) == "fused"
    texts["off/e.yaml"] = b"fused: true"
    uses = Uses(lambda: [*texts], texts.__getitem__)
    assert OffOptions(uses.saying).at(tree, "near/b.py", 2) == ""
