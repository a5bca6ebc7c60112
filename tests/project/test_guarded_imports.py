"""What is said of a package that a guarded import brings rests where nothing that runs uses a name of it."""

from __future__ import annotations

import json

import pytest
from command_line import Porter, write

from porter.project import unused
from porter.project.guarded_imports import guarded

pytestmark = pytest.mark.slow  # each analyses a project by the command

GUARD = "try:\n    {}\nexcept ImportError:\n    {}\n\n\n"
IMPORT = "from causal_conv1d import causal_conv1d_fn as conv"
IDLE = "def idle(x):\n    return conv(x)\n\n\n"
LIVE = "def live(x):\n    return {}\n"
TRAIN = "import torch\n\nfrom lib import live\n\nlive(torch.ones(2).cuda())\n"


@pytest.mark.parametrize(
    ("text", "more", "told"),
    [
        (GUARD.format(IMPORT, "conv = None") + IDLE + LIVE.format("x"), "", False),
        (GUARD.format(IMPORT, "conv = None") + LIVE.format("x"), "", False),
        (GUARD.format(IMPORT, "conv = None") + IDLE + LIVE.format("conv(x) if conv else x"), "", True),
        (GUARD.format(IMPORT + "\n    FAST = True", "FAST = False") + LIVE.format("x * FAST"), "", True),
        (GUARD.format(IMPORT, "raise") + IDLE + LIVE.format("x"), "", True),  # it stops there
        (IMPORT + "\n\n\n" + IDLE + LIVE.format("x"), "", True),
        (GUARD.format(IMPORT, "conv = None") + LIVE.format("x"), "from lib import conv\n\nprint(conv(2))\n", True),
        (GUARD.format("import causal_conv1d", "pass") + LIVE.format("causal_conv1d.fn(x)"), "", True),
    ],
)  # fmt: skip
def test_where_a_name_is_used(tmp_path, monkeypatch, text: str, more: str, told: bool) -> None:
    write(tmp_path, {"porter.toml": "", "lib.py": text, "train.py": TRAIN, "more.py": more})
    found = json.loads(Porter(monkeypatch, tmp_path)("analyze", ".", "--format", "json").text)
    assert [row["path"] for row in found["findings"] if row["code"] == "PRT401"] == ["lib.py"] * told
    assert any(row["code"] == "PRT401" for row in found["left_alone"]) is not told


@pytest.mark.parametrize(
    ("import_", "most", "found"),
    [
        (IMPORT, 2_000, ("conv", [])),
        (IMPORT, 0, None),  # so many other files that none is searched
        ("import causal_conv1d", 2_000, None),  # to load it may be its use: it may register operators
    ],
)
def test_what_nobody_names(monkeypatch, import_: str, most: int, found: tuple[str, list[int]] | None) -> None:
    monkeypatch.setattr(unused, "_TEXTS_AT_MOST", most)
    texts = {"lib.py": (GUARD.format(import_, "pass") + LIVE.format("x")).encode(), "more.yml": b"a: 1\n"}
    uses = unused.Uses(lambda: sorted(texts), texts.__getitem__)
    assert guarded(uses, "lib.py", texts["lib.py"].split(b"\n"), [2]) == found
