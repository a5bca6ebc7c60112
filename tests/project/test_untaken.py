"""What is told of a branch that no caller in the project takes goes to the inventory."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import Porter, write

pytestmark = pytest.mark.slow  # each analyses a project by the command

BY_MASK = """import torch


def gathered(x, at, mask=None):
    x = x.gather(1, at)
    if mask is not None:
        mask = mask.expand_as(x)
        x = x[mask].sum() + torch.zeros(3, dtype=torch.float64, device="cuda")
    return x


def both(x, at):
    return gathered(x, at)
"""
TRAIN = """import torch
from lib import both

print(both(torch.ones(2, 2).cuda(), torch.ones(2, 2).long()))
"""


def rests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str]) -> str:
    """The condition because of which what is said of lib.py is set aside; "" if it is told."""
    write(tmp_path, {"porter.toml": "", **files})
    found = json.loads(Porter(monkeypatch, tmp_path)("analyze", ".", "--format", "json").text)
    told = [f for f in found["findings"] if (f["path"], f["code"]) == ("lib.py", "PRT307")]
    listed = [row for row in found["left_alone"] if row["code"] == "PRT307" and row["places"][0].startswith("lib.py:")]
    assert len(told) + len(listed) == 1
    return listed[0]["values"].get("never") or listed[0]["values"]["unused"] if listed else ""


@pytest.mark.parametrize(
    "more",
    [
        {},
        {
            "eval.py": "from lib import (\n    both,\n    gathered,\n)\n\nprint(gathered(1, at=2), gathered(1, 2, None))\n"
        },
        {"README.md": "`gathered` picks values.\n"},
        {"eval.py": "import lib  # gathered(x, at, mask)\n\nprint(lib.gathered(1, (2, 3)))\n"},
        {"eval.py": 'import lib\n\nprint(lib.gathered(\n    1,  # of (a, b\n    ")",\n    mask=None,\n))\n'},
    ],
)
def test_a_parameter_that_nobody_hands_over(tmp_path: Path, monkeypatch, more: dict[str, str]) -> None:
    assert rests(tmp_path, monkeypatch, {"lib.py": BY_MASK, "train.py": TRAIN, **more}) == "mask is not None"


@pytest.mark.parametrize(
    "more",
    [
        {"eval.py": "import lib\n\nprint(lib.gathered(1, 2, 3))\n"},
        {"eval.py": "import lib\n\nprint(lib.gathered(1, 2, mask=some))\n"},
        {"eval.py": "import lib\n\nprint(lib.gathered(1, *some))\n"},
        {"eval.py": "import lib\n\nprint(lib.gathered(1, 2, **some))\n"},
        {"eval.py": "import lib\n\nprint(map(lib.gathered, some))\n"},
        {"eval.py": "from lib import gathered as picked\n\nprint(picked(1, 2, 3))\n"},
        {"eval.py": "import lib\n\nprint(getattr(lib, name)(1, 2, 3))\n"},
        {"eval.ipynb": '{"cells": [{"cell_type": "code", "source": ["gathered(1, 2, 3)"]}]}'},
        {"conf.yaml": "call: lib.gathered\n"},
        {"README.md": "Try `gathered(x, at, mask)`.\n"},
        {"lib.py": BY_MASK.replace("def gathered", "@traced\ndef gathered")},
        {"lib.py": BY_MASK.replace("    x = x.gather", "    mask = mask or found(x)\n    x = x.gather")},
        {"lib.py": BY_MASK.replace("mask is not None", "mask is None")},
        {"lib.py": BY_MASK.replace("mask is not None", "mask is not None or x.any()")},
        {"setup.py": "from setuptools import setup\n\nsetup(name='the-lib', packages=['.'])\n"},
    ],
)
def test_a_parameter_that_somebody_may_hand_over(tmp_path: Path, monkeypatch, more: dict[str, str]) -> None:
    assert not rests(tmp_path, monkeypatch, {"lib.py": BY_MASK, "train.py": TRAIN, **more})


OF_SELF = """import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width, *, kind="relu", p=0.0):
        super(Block, self).__init__()
        self.kind = kind
        self.layer = nn.Linear(width, width)

    def forward(self, x):
        if "re" not in self.kind and self.training:
            return self.by_hand(x)
        return self.layer(x)

    def by_hand(self, x):
        return x + torch.zeros(3, dtype=torch.float64, device="cuda")


class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.blocks = nn.ModuleList([Block(width, p=0.1) for _ in range(3)])
"""
RUN = "import torch\nfrom lib import Net\n\nprint(Net(8).cuda())\n"


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"eval.py": "from lib import Block\n\nprint(Block(3, kind='prelu'), isinstance(some, Block))\n"},
        {"eval.py": "class Other:\n    def __init__(self, kind):\n        self.kind = kind\n"},
        {"lib.py": OF_SELF.replace("def forward", "def run"), "eval.py": "print(net.blocks[0].run(3))\n"},
        {"eval.py": "def copied(net, other):\n    for k, v in other.__dict__.items():\n        setattr(net, k, v)\n"},
        {"eval.py": "for k in ['names', 'strides']:\n    setattr(net, k, getattr(net[-1], k))\n"},
        {"eval.py": "for k, c in zip(['a', 'b'], [3, 4]):\n    setattr(net, k, [c for _ in range(9)])\n"},
        {
            "lib.py": OF_SELF.replace(
                "self.layer =", "for k in 'a', 'b':\n            setattr(self, k, 0)\n        self.layer ="
            )
        },
    ],
)
def test_a_method_behind_a_value_that_nobody_sets(tmp_path: Path, monkeypatch, more: dict[str, str]) -> None:
    assert rests(tmp_path, monkeypatch, {"lib.py": OF_SELF, "train.py": RUN, **more}) == "Block.by_hand"


@pytest.mark.parametrize(
    "more",
    [
        {"eval.py": "from lib import Block\n\nprint(Block(3, kind='gelu'))\n"},
        {"eval.py": "from lib import Block\n\nprint(Block(3, kind=asked()))\n"},
        {"eval.py": "from lib import Block\n\n\nclass Wide(Block):\n    pass\n\n\nprint(Wide(3, kind='gelu'))\n"},
        {"eval.py": "from lib import Net\n\nnet = Net(3)\nnet.blocks[0].kind = 'gelu'\n"},
        {"eval.py": "def put(net, **values):\n    for name in values:\n        setattr(net, name, values[name])\n"},
        {"eval.py": "for k in ['kind', 'size']:\n    setattr(net.blocks[0], k, chosen(k))\n"},
        {"eval.py": "for k, c in zip(chosen(), [3, 4]):\n    setattr(net, k, c)\n"},
        {
            "lib.py": OF_SELF.replace(
                "self.layer =", "for k in 'kind', 'b':\n            setattr(self, k, 0)\n        self.layer ="
            )
        },
        {"eval.py": "BLOCKS = {'plain': Block}\n"},
        {"eval.py": "print(net.blocks[0].by_hand(3))\n"},
        {"conf.yaml": "block: lib.Block\n"},
        {
            "lib.py": OF_SELF.replace(
                "        self.layer =", "        self.kind = self.kind or chosen()\n        self.layer ="
            )
        },
        {"lib.py": OF_SELF.replace("class Block", "@registered\nclass Block")},
        {"lib.py": OF_SELF + "\n    @classmethod\n    def made(cls):\n        return cls(kind='gelu')\n"},
    ],
)
def test_a_value_that_somebody_may_set(tmp_path: Path, monkeypatch, more: dict[str, str]) -> None:
    assert not rests(tmp_path, monkeypatch, {"lib.py": OF_SELF, "train.py": RUN, **more})


IN_INIT = OF_SELF[: OF_SELF.index("    def by_hand")] + OF_SELF[OF_SELF.index("\nclass Net") :]
IN_INIT = IN_INIT.replace("return self.by_hand(x)", "return x").replace(
    "        self.kind = kind\n",
    '        if kind == "gelu":\n            self.table = torch.zeros(3, dtype=torch.float64, device="cuda")\n',
)


@pytest.mark.parametrize(
    ("base", "use", "never"),
    [
        ("nn.Module", "print(Block.named('a', kind='gelu'))", "kind == 'gelu'"),
        ("PreTrained", "print(Block.from_pretrained('a', kind='gelu'))", ""),
        ("PreTrained", "print(isinstance(some, Block))", "kind == 'gelu'"),
    ],
)
def test_what_a_class_makes_of_itself(tmp_path: Path, monkeypatch, base: str, use: str, never: str) -> None:
    lib = IN_INIT.replace("class Block(nn.Module)", f"class Block({base})")
    made = f"from lib import Block\n\n{use}\n"
    assert rests(tmp_path, monkeypatch, {"lib.py": lib, "train.py": RUN, "eval.py": made}) == never


EARLY = """import torch


class Head:
    def loss(self, x, weight=None, reduce="mean"):
        if weight is None:
            return x.mean()
        x = x * weight
        return x + torch.zeros(3, dtype=torch.float64, device="cuda")


def run(head, x):
    return head.loss(x, reduce="sum")
"""


@pytest.mark.parametrize(
    ("more", "never"),
    [
        ({}, "weight is None"),
        ({"eval.py": "print(head.loss(x, None))\n"}, "weight is None"),
        ({"eval.py": "print(head.loss(x, weight=w))\n"}, ""),
        ({"eval.py": "print(Head.loss(head, x))\n"}, ""),
        ({"lib.py": EARLY.replace("class Head:", "class Head(Trainer):")}, ""),
        ({"lib.py": EARLY.replace("            return x.mean()", "            x = x.mean()")}, ""),
    ],
)
def test_what_stands_below_a_return(tmp_path: Path, monkeypatch, more: dict[str, str], never: str) -> None:
    train = "import torch\nfrom lib import Head, run\n\nprint(run(Head(), torch.ones(3).cuda()))\n"
    assert rests(tmp_path, monkeypatch, {"lib.py": EARLY, "train.py": train, **more}) == never


@pytest.mark.parametrize(
    ("files", "never"),
    [
        ({"lib.py": BY_MASK.replace("gathered", "_gathered")}, "mask is not None"),
        ({"lib.py": BY_MASK.replace("gathered", "_gathered"), "eval.py": "lib._gathered(1, 2, 3)\n"}, ""),
        ({"lib.py": BY_MASK}, ""),
        ({"lib.py": OF_SELF.replace("Block", "_Block")}, ""),
        ({"lib.py": OF_SELF.replace("Block", "_Block").replace("by_hand", "_by_hand")}, "_Block._by_hand"),
        ({"lib.py": OF_SELF.replace("by_hand", "_by_hand")}, ""),
    ],
)
def test_what_is_private_in_a_package_for_others(
    tmp_path: Path, monkeypatch, files: dict[str, str], never: str
) -> None:
    setup = "from setuptools import setup\n\nsetup(name='the-lib', packages=['.'])\n"
    assert (
        rests(tmp_path, monkeypatch, {"train.py": "import torch\n\ntorch.ones(2).cuda()\n", "setup.py": setup, **files})
        == never
    )


BY_PROVIDER = """import onnxruntime as ort
import torch


class Encoder:
    def __init__(self, path, device="cpu"):
        if device == "cuda":
            provider = ["CUDAExecutionProvider"]
        else:
            provider = ["CPUExecutionProvider"]
        self.session = ort.InferenceSession(path, providers=provider)


def encoder(path):
    return Encoder(path)


def scores():
    return torch.ones(3).cuda()
"""


@pytest.mark.parametrize("handed", ["", ', "cuda"', ", device=sys.argv[1]"])
def test_a_comparison_whose_branch_no_caller_takes(tmp_path: Path, monkeypatch, handed: str) -> None:
    files = {"lib.py": BY_PROVIDER.replace("Encoder(path)", f"Encoder(path{handed})")}
    write(tmp_path, {"porter.toml": "", "train.py": "from lib import encoder, scores\nencoder(scores())\n", **files})
    found = json.loads(Porter(monkeypatch, tmp_path)("analyze", ".", "--format", "json").text)
    told = [f["code"] for f in found["findings"] if (f["path"], f["line"]) == ("lib.py", 7)]
    assert told == (["PRT122"] if handed else [])


MADE = """import torch
from torch import nn


class Plain(nn.Module):
    def forward(self, x):
        return x


def widened(x):
    return x + torch.zeros(3, dtype=torch.float64, device="cuda")


class Wide(nn.Module):
    def forward(self, x):
        return widened(x)


def make(kind, size):
    net = None
{asks}
    return net
"""
CHAIN = """    if kind == "plain":
        kind = Plain()
    elif kind == "wide":
        kind = Wide()
    net = kind"""
AGAIN = """    for _ in range(size):
        if kind == "plain":
            kind = "wide"
        elif kind == "wide":
            net = Wide()"""
MAKER = 'import lib\n\nprint(lib.make("plain", 3))\n'


@pytest.mark.parametrize(
    ("asks", "files", "by"),
    [
        (CHAIN, {"train.py": MAKER}, "widened"),
        (CHAIN, {"train.py": MAKER.replace("plain", "wide")}, ""),
        (CHAIN, {"train.py": MAKER, "eval.py": "import lib\n\nprint(lib.Wide())\n"}, ""),
        (CHAIN, {"train.py": MAKER, "eval.py": "import lib\n\nprint(lib.widened(1))\n"}, ""),
        (CHAIN + "\n    print(Wide)", {"train.py": MAKER}, ""),
        (AGAIN, {"train.py": MAKER}, ""),  # the first round makes the second take the other branch
    ],
    ids=["made there alone", "taken", "made elsewhere", "called elsewhere", "named elsewhere", "in a loop"],
)
def test_what_only_such_a_branch_makes(tmp_path: Path, monkeypatch, asks: str, files: dict[str, str], by: str) -> None:
    assert rests(tmp_path, monkeypatch, {"lib.py": MADE.format(asks=asks), **files}) == by


def test_what_only_such_a_branch_of_another_file_makes(tmp_path: Path, monkeypatch) -> None:
    user = "from lib import both\n\n\ndef run(x, wide=False):\n    if wide:\n        return both(x, 1)\n    return x\n"
    lib = BY_MASK.replace("    if mask is not None:\n", "    if mask is None:\n")
    files = {"lib.py": lib, "net.py": user, "train.py": "import net\n\nprint(net.run(1))\n"}
    assert rests(tmp_path, monkeypatch, files) == "gathered"
    files["train.py"] += "print(net.run(1, wide=True))\n"
    assert rests(tmp_path, monkeypatch, files) == ""


WRAPPED = """import torch
from torch.autograd import Variable


def to_var(x, learns=False, volatile=False):
    return Variable(
        x.cuda(),
        requires_grad=learns,
        volatile=volatile,
    )
"""


@pytest.mark.parametrize(
    ("use", "never"),
    [
        ("from lib import to_var\n\nprint(to_var(1), to_var(2, True), to_var(3, volatile=False))\n", "volatile"),
        ("from lib import to_var\n\nprint(to_var(1, volatile=True))\n", ""),
        ("from lib import to_var\n\nprint(to_var(1, False, True))\n", ""),
        ("from lib import to_var\n\nprint(to_var(1, volatile=not training))\n", ""),
        ("from lib import to_var\n\nprint(map(to_var, (1, 2)))\n", ""),
    ],
)
def test_a_keyword_that_no_caller_turns_on(tmp_path: Path, monkeypatch, use: str, never: str) -> None:
    write(tmp_path, {"porter.toml": "", "lib.py": WRAPPED, "train.py": use})
    found = json.loads(Porter(monkeypatch, tmp_path)("analyze", ".", "--format", "json").text)
    told = [f["code"] for f in found["findings"] if f["code"] == "PRT707"]
    listed = [row["values"]["never"] for row in found["left_alone"] if row["code"] == "PRT707"]
    assert (told, listed) == (([], [never]) if never else (["PRT707"], []))


HANDED_ON = """from lib import gathered


def first(x, at, mask=None):
    return second(x, at, mask)


def second(x, at, chosen=None):
    return gathered(x, at, mask=chosen)


class Net:
    def __init__(self, mask=None):
        self.mask = mask

    def step(self, x):
        return gathered(x, x, self.mask)


print(Net().step(1), first(1, 2))
"""
USED_AGAIN = HANDED_ON.replace(
    "    return second(x, at, mask)", "    return first(x, at, mask) if x else second(x, at, mask)"
)


@pytest.mark.parametrize(
    ("text", "is_never"),
    [
        (HANDED_ON, True),
        (USED_AGAIN, True),  # a function that hands its own value on to itself
        (HANDED_ON + "\nfirst(1, 2, input())\n", False),
        (HANDED_ON + "\nNet(mask=[1])\n", False),
        (HANDED_ON + "\ncall(first, 1, 2, 3)\n", False),  # who calls it hands over what nobody knows
        (HANDED_ON.replace("    return second", "    mask = mask or x\n    return second"), False),
        (HANDED_ON.replace("class Net:", "class Net(net.Net):"), False),  # a library may make one
        (HANDED_ON.replace("def first", "@started\ndef first"), False),
        (HANDED_ON.replace("second(x, at, mask)", "second(x, at, mask + 0)"), False),
        (HANDED_ON.replace("second(x, at, mask)", "[second(x, at, mask) for mask in x]"), False),
        (HANDED_ON + "\nprint(globals()[input()])\n", False),
    ],
)
def test_a_parameter_that_callers_hand_on(tmp_path: Path, monkeypatch, text: str, is_never: bool) -> None:
    files = {"lib.py": BY_MASK, "train.py": TRAIN, "eval.py": text}
    assert rests(tmp_path, monkeypatch, files) == ("mask is not None" if is_never else "")


BY_NONE = """import torch


def cut(rows, most=None):
    if most is None:
        rows = rows + torch.zeros(3, dtype=torch.float64, device="cuda")
    return rows[:most]
"""


def loads(value: str, option: str = '"--most", type=int, default=8') -> str:
    return f"""import argparse
from torch.utils.data import DataLoader
from lib import cut

parser = argparse.ArgumentParser()
parser.add_argument({option})
args = parser.parse_args()
loader = DataLoader(range(9), collate_fn=lambda rows: cut(rows, most={value}))
other = DataLoader(
    range(9),
    cut=None)
for rows in loader:
    rows.cuda()
"""


@pytest.mark.parametrize("text", [loads("args.most"), loads("2 * 4"), loads("args.most", '"--most", required=True')])
def test_none_that_no_caller_hands_over(tmp_path: Path, monkeypatch, text: str) -> None:
    assert rests(tmp_path, monkeypatch, {"lib.py": BY_NONE, "train.py": text}) == "most is None"


@pytest.mark.parametrize(("given", "is_known"), [("most=3", True), ("most=None", False), ("*several", False)])
def test_none_that_no_cell_hands_over(tmp_path: Path, monkeypatch, given: str, is_known: bool) -> None:
    cell = {"cell_type": "code", "source": ["import lib\n", f"rows = lib.cut([1, 2], {given})\n"]}
    files = {"lib.py": BY_NONE, "train.py": loads("args.most"), "a.ipynb": json.dumps({"cells": [cell]}, indent=1)}
    assert rests(tmp_path, monkeypatch, files) == ("most is None" if is_known else "")


@pytest.mark.parametrize(
    "text",
    [
        loads("args.most", '"--most", type=int'),
        loads("args.most", '"--most", type=int, default=None'),
        loads("args.most", '"--least", type=int, default=8'),
        loads("rows.most"),
        loads("args.most") + "args.most = None\n",
        loads("args.most").replace("cut=None", "collate_fn=cut"),
    ],
)
def test_none_that_a_caller_may_hand_over(tmp_path: Path, monkeypatch, text: str) -> None:
    assert rests(tmp_path, monkeypatch, {"lib.py": BY_NONE, "train.py": text}) == ""
