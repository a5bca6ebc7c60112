"""What is said of a branch that is never taken, or of a method that nothing names, is listed in the inventory."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import Porter, write

from porter.engine.together import further_lines

pytestmark = pytest.mark.slow  # each analyses a project by the command

BRANCH = """import torch


def build(model, flag):
{}
    return model


print(build(torch.nn.Linear(2, 2).cuda(), True))
"""
WRAP = "model = torch.nn.DataParallel(model)"
NEVER = {
    "a name": f"    parallel = False\n    if parallel:\n        {WRAP}",
    "a constant": f"    if False:\n        {WRAP}",
    "not": f"    whole = True\n    if not whole and flag:\n        {WRAP}",
    "the same again": f"    whole = True\n    if flag and whole:\n        pass\n    elif flag:\n        {WRAP}",
    "else": f"    whole = True\n    if whole or flag:\n        pass\n    else:\n        {WRAP}",
}
OLD = "version.parse(torch.__version__) < version.parse('1.6')"
NEVER |= {
    "an old torch": f"    if {OLD}:\n        {WRAP}",
    "not a newer one": f"    if '1.5.0' <= torch.__version__:\n        pass\n    else:\n        {WRAP}",
    "mmcv's name": f"    if digit_version(TORCH_VERSION) >= digit_version('1.8'):\n        pass\n    else:\n        {WRAP}",
    "numbers": f"    if TORCH_VERSION < (1, 5):\n        {WRAP}",
    "on the right": f"    if (1, 8) <= TORCH_VERSION:\n        pass\n    else:\n        {WRAP}",
}
TAKEN = {
    "the first with a torch_npu": f"    if TORCH_VERSION <= (1, 8):\n        {WRAP}",
    "newer numbers": f"    if TORCH_VERSION < (1, 11):\n        {WRAP}",
    "a torch that may be": f"    if {OLD.replace('1.6', '2.1')}:\n        {WRAP}",
    "another package": f"    if {OLD.replace('torch.__version__', 'apex.__version__')}:\n        {WRAP}",
    "a newer torch": f"    if {OLD.replace('<', '>=')}:\n        {WRAP}",
    "another again": f"    whole = True\n    if flag and whole:\n        pass\n    elif model:\n        {WRAP}",
    "asked": f"    if flag:\n        {WRAP}",
    "set again": f"    parallel = False\n    if flag:\n        parallel = True\n    if parallel:\n        {WRAP}",
    "the other branch": f"    parallel = False\n    if not parallel:\n        {WRAP}",
    "or": f"    parallel = False\n    if parallel or flag:\n        {WRAP}",
    "set by a function inside": f"""    wrapped = False

    def wrap():
        nonlocal wrapped
        wrapped = True

    wrap()
    if wrapped:
        {WRAP}""",
}


def looked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str], code: str
) -> tuple[set[int], dict[int, str]]:
    """The lines of lib.py that are told of, and those that are set aside, with what that names."""
    write(tmp_path, {"porter.toml": "", **files})
    found = json.loads(Porter(monkeypatch, tmp_path)("analyze", ".", "--format", "json").text)
    here = [f for f in found["findings"] if (f["code"], f["path"]) == (code, "lib.py")]
    told = {line for f in here for line in (f["line"], *further_lines(f["values"]))}
    rows = [row for row in found["left_alone"] if row["code"] == code]
    aside = {place: row["values"] for row in rows for place in row["places"] if place.startswith("lib.py:")}
    names = ((place, values.get("never") or values.get("unused", "")) for place, values in aside.items())
    return told, {int(place.rpartition(":")[2]): name for place, name in names}


@pytest.mark.parametrize("case", NEVER)
def test_branches_never_taken(tmp_path: Path, monkeypatch, case: str) -> None:
    told, aside = looked(tmp_path, monkeypatch, {"lib.py": BRANCH.format(NEVER[case])}, "PRT205")
    assert not told and len(aside) == 1


@pytest.mark.parametrize("case", TAKEN)
def test_branches_that_may_be_taken(tmp_path: Path, monkeypatch, case: str) -> None:
    told, aside = looked(tmp_path, monkeypatch, {"lib.py": BRANCH.format(TAKEN[case])}, "PRT205")
    assert len(told) == 1 and not aside


MADE = 'torch.zeros(size, dtype=torch.float64, device="cuda")'
METHODS = f"""import torch
from torch import nn
from base import Base
from pytorch_lightning import LightningModule


class Net(nn.Module):
    def forward(self, size):
        return self.called(size) + {MADE}

    def called(self, size):
        return {MADE}

    def idle(self, size):
        return self.by_idle(size) + {MADE}

    def by_idle(self, size):
        return {MADE}

    def named_elsewhere(self, size):
        return {MADE}

    def in_settings(self, size):
        return {MADE}

    @hook
    def decorated(self, size):
        return {MADE}

    def one_of_two(self, size):
        return self.other_of_two(size) + {MADE}

    def other_of_two(self, size):
        return self.one_of_two(size) + {MADE}

    def extra_repr(self, size):
        return {MADE}


class Own(Base):
    def shown(self, size):
        return {MADE}


class Trained(LightningModule):
    def on_fit_end(self, size):
        return {MADE}


print(Net().cuda(), Own, Trained, Net().other_of_two)
"""
BESIDE = {
    "base.py": "class Base:\n    pass\n",
    "train.py": "from lib import Net\n\nprint(Net().named_elsewhere(1).device)\n",
    "conf.yaml": "call: in_settings\n",
}
PLACES = [number for number, line in enumerate(METHODS.splitlines(), 1) if MADE in line]
IDLE = {15: "Net.idle", 18: "Net.by_idle", 42: "Own.shown"}


def test_methods(tmp_path: Path, monkeypatch) -> None:
    told, aside = looked(tmp_path, monkeypatch, {"lib.py": METHODS, **BESIDE}, "PRT307")
    assert (told, aside) == ({*PLACES} - IDLE.keys(), IDLE)


@pytest.mark.parametrize(
    "more",
    [
        {"lib.py": METHODS + "\n\ndef ask(net, name):\n    return getattr(net, name)(1)\n"},
        {"setup.py": "from setuptools import setup\n\nsetup(name='the-lib', packages=['.'])\n"},
    ],
)
def test_methods_that_may_be_looked_up(tmp_path: Path, monkeypatch, more: dict[str, str]) -> None:
    told, aside = looked(tmp_path, monkeypatch, {"lib.py": METHODS, **BESIDE, **more}, "PRT307")
    assert (told, aside) == ({*PLACES}, {})


DROPS = """import torch
from torch import nn


class DropPath(nn.Module):
    def __init__(self, drop_prob=0.0):
        super().__init__()
        self.drop_prob = drop_prob

    def forward(self, x):
        if self.drop_prob == 0.0 or not self.training:
            return x
        keep = 1 - self.drop_prob
        shape = (x.shape[0],) + (1,) * (x.ndim - 1)
        random_tensor = keep + torch.rand(shape, dtype=x.dtype, device=x.device)
        random_tensor.floor_()
        return x.div(keep) * random_tensor


class Net(nn.Module):
    def __init__(self, drop_path_rate=0.0):
        super().__init__()
        self.path = DropPath(drop_path_rate)


print(Net().cuda())
"""


@pytest.mark.parametrize(
    ("more", "drops"),
    [
        ({}, False),
        ({"conf.yaml": "drop_path_rate: 0.0\n"}, False),
        ({"conf.yaml": "drop_path_rate: 0.2\n"}, True),
        ({"conf.yaml": "drop_path: 1e-1\n"}, True),
        ({"conf.yaml": "drop_path: 0, eps: 1e-6\n"}, False),
        ({"run.sh": "python lib.py --drop-path 0.1\n"}, True),
        ({"run.sh": "python lib.py --drop_path 0\n"}, False),
        ({"train.py": "from lib import Net\n\nNet(drop_path_rate=.05)\n"}, True),
    ],
)
def test_paths_that_are_never_dropped(tmp_path: Path, monkeypatch, more: dict[str, str], drops: bool) -> None:
    told, aside = looked(tmp_path, monkeypatch, {"lib.py": DROPS, **more}, "PRT617")
    assert (bool(told), bool(aside)) == (drops, not drops)


@pytest.mark.parametrize(
    ("head", "told"),
    [
        (f"if {OLD}:\n    use_apex = True\n", False),
        (f"if {OLD}:\n    use_apex = True\nelse:\n    use_apex = True\n", True),
        (f"if {OLD.replace('1.6', '2.1')}:\n    use_apex = True\n", True),
        (f"if {OLD}:\n    use_apex = True\n\ndef switch():\n    global use_apex\n    use_apex = True\n", True),
        (f"if {OLD}:\n    use_apex = True\nuse_apex, level = (True, 1)\n", True),
        (f"if {OLD}:\n    use_apex = True\nuse_apex: bool = True\n", True),
    ],
)
def test_a_name_of_the_module_that_only_an_old_torch_sets(tmp_path: Path, monkeypatch, head: str, told: bool) -> None:
    text = BRANCH.format(f"    if flag and use_apex:\n        {WRAP}").replace(
        "import torch\n", f"import torch\n\nuse_apex = False\n{head}", 1
    )
    lines, _ = looked(tmp_path, monkeypatch, {"lib.py": text}, "PRT205")
    assert bool(lines) == told


SAVED = """import torch


class Base:
    pass


class User(Base):
    def __init__(self, model):
        self.model = model.cuda()

    def save(self):
        return torch.zeros(3, dtype=torch.float64, device="cuda")
"""
SERVER = """import torch
from lib import User


class Server:
    def save(self):
        print(torch.ones(2).cuda())

    def train(self):
        self.save()


Server().train()
print(User(torch.nn.Linear(2, 2)))
"""
MIXIN = "class Mixin:\n    def train(self):\n        self.save()\n\n\n"
INNER = "class Outer:\n    class {}:\n        def train(self):\n            self.save()\n"


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({}, False),
        ({"own.py": "from lib import User\n\n\nclass Own(User):\n    def train(self):\n        self.save()\n"}, True),
        ({"own.py": "from lib import Base\n\n\nclass Own(Base):\n    def train(self):\n        self.save()\n"}, False),
        (
            {
                "own.py": "class Mixin:\n    def train(self):\n        self.save()\n\n\nclass A(Mixin, User):\n    pass\n"
            },
            True,
        ),
        ({"own.py": "class Mixin:\n    def train(self):\n        self.save()\n\n\nclass A(Mixin):\n    pass\n"}, False),
        ({"own.py": MIXIN + "class A[T](Mixin, User):\n    pass\n"}, True),
        ({"own.py": MIXIN + "class A(  # of two: these\n    Mixin, User\n):\n    pass\n"}, True),
        ({"own.py": MIXIN + "class A(pick(lambda name: name), Mixin, User):\n    pass\n"}, True),
        ({"own.py": MIXIN + "class A(Mixin): use = User\n"}, False),
        ({"own.py": INNER.format("Inner(User)")}, True),
        ({"own.py": INNER.format("Inner")}, False),
        ({"own.py": "def end(self):\n    self.save()\n\n\nUser.end = end\n"}, True),
        ({"own.py": "def end(users):\n    for user in users:\n        user.save()\n"}, True),
        ({"own.py": "import torch\n\ntorch.save({}, 'a.pt')\nprint(hasattr(torch.jit, 'save'))\n"}, False),
        ({"own.py": "import my_torch\n\nmy_torch.save({}, 'a.pt')\n"}, True),
    ],
)
def test_a_method_that_only_other_classes_call(tmp_path: Path, monkeypatch, more: dict[str, str], told: bool) -> None:
    lines, aside = looked(tmp_path, monkeypatch, {"lib.py": SAVED, "train.py": SERVER, **more}, "PRT307")
    assert (bool(lines), list(aside.values())) == (told, [] if told else ["User.save"])


STEPS = """import torch
from base import System


class Shaped(System):
    def training_step(self, batch):
        return self.training_substep(batch)

    def training_substep(self, batch):
        return (torch.ones(2, dtype=torch.float64).cuda() * batch).sum()
"""


@pytest.mark.parametrize(("base", "told"), [("LightningModule", True), ("torch.nn.Module", False)])
def test_a_library_calls_what_a_class_of_its_own_has_below_another_file(
    tmp_path: Path, monkeypatch, base: str, told: bool
) -> None:
    """Lightning asks for `training_step` of whatever is derived from its module, by however many steps."""
    system = f"import torch\nfrom pytorch_lightning import LightningModule\n\n\nclass System({base}):\n    pass\n"
    train = "from lib import Shaped\n\nprint(Shaped())\n"
    lines, aside = looked(tmp_path, monkeypatch, {"lib.py": STEPS, "base.py": system, "train.py": train}, "PRT307")
    assert (bool(lines), list(aside.values())) == (told, [] if told else ["Shaped.training_substep"])
