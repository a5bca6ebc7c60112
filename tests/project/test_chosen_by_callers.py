"""Whether all callers of a function tell the process its device."""

from __future__ import annotations

import ast

import pytest

from porter.project.chosen_by_callers import chooser

TREE = ast.parse("def start(rank):\n    pass\n")
CALL = b"start(\n        0,\n        seed=int(f(1)),\n    )\n"
CHOICE = b"    device = torch.device('cuda:0')\n    torch.cuda.set_device(device)\n"
FAR = b"\n".join([b"    log(1)"] * 9) + b"\n"


@pytest.mark.parametrize(
    ("files", "path"),
    [
        ({"main.py": CALL + CHOICE}, "main.py"),
        ({"main.py": CHOICE + FAR + CALL}, "main.py"),
        ({"main.py": b"os.environ['CUDA_VISIBLE_DEVICES'] = rank\n" + CALL, "eval.py": CALL + FAR + CHOICE}, "main.py"),
        ({"main.py": CALL + CHOICE, "eval.py": CALL}, ""),
        ({"main.py": CALL + b"    torch.cuda.init()\n"}, ""),
        ({"main.py": CALL + CHOICE, "notes.md": CALL, "lib.py": b"def start(rank):\n    pass\n"}, "main.py"),
        ({"lib.py": CALL, "main.py": CALL + CHOICE}, ""),
    ],
    ids=["after", "before", "visible", "one does not", "no choice", "no callers", "its own file does not"],
)
def test_its_callers(files: dict[str, bytes], path: str) -> None:
    assert chooser(TREE, 2, "lib.py", lambda word: files.items()) == path
