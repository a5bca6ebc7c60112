"""What the project's programs put into checkpoints beside tensors."""

from __future__ import annotations

import pytest

from porter.engine.facts import OwnCode
from porter.project.saved_objects import saved_objects
from porter.python.trees import parse

HEAD = b"import torch\nimport numpy as np\nargs = parser.parse_args()\n"
MODEL = HEAD + b'torch.save({"model": m.state_dict(), "epoch": 1}, "a.pt")\n'
SETTINGS = HEAD + b'torch.save({"model": m.state_dict(), "args": args, "g": g}, "a.pt")\n'


@pytest.mark.parametrize(
    ("text", "held"),
    [
        (SETTINGS, "args"),
        (SETTINGS.replace(b"parser.parse_args()", b"vars(parser.parse_args())"), ""),
        (SETTINGS.replace(b'"args": args', b'"args": args.name'), ""),
        (SETTINGS.replace(b'"args": args', b'"args": cfg'), ""),
        (SETTINGS.replace(b'"args": args', b'"args": cfg') + b"cfg = OmegaConf.load(path)\n", "args"),
        (SETTINGS.replace(b'"args": args', b'"args": x.cpu().numpy()'), "args"),
        (SETTINGS.replace(b"torch.save", b"np.save"), ""),
        (SETTINGS.replace(b"torch.save", b"utils.save_on_master"), "args"),
        (HEAD + b'def f(args):\n    state = dict(g=1)\n    state["args"] = args\n    torch.save(state)\n', "args"),
        (HEAD + b'def f(args):\n    state = {"args": args}\n    state = {}\n    torch.save(state)\n', ""),
    ],
)
def test_what_is_an_object(text, held):
    saved = saved_objects({"a.py": text}, parse)
    assert [row.held for row in saved if row.held] == [held] * bool(held)


def test_which_dictionary_is_meant():
    own = OwnCode(saved=saved_objects({"a.py": MODEL, "b.py": SETTINGS, "tests/c.py": SETTINGS}, parse))
    assert own.saved_with(frozenset({"g"})) == ("b.py", ("model", "args", "g"), "args")
    assert own.saved_with(frozenset({"g", "model"})) and not own.saved_with(frozenset({"g", "other"}))
    assert own.saved_with(frozenset({"model"})) is None, "a.py saves it without settings"
    assert own.saved_with(frozenset()) is None, "nobody knows what is read"
    assert OwnCode(saved=own.saved[1:]).saved_with(frozenset({"model"}))
