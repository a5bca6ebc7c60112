"""Keys under which only what was moved to the CPU is saved."""

from __future__ import annotations

from pathlib import Path

import pytest

from porter.project.saved_on_host import keys_on_host
from porter.python.trees import parse

SAVER = Path(__file__).parents[1].joinpath("fixtures/PRT901_moved_before_saved/base.py").read_bytes()
BOTH = (("", "params"), ("", "params_ema"))


@pytest.mark.parametrize(
    ("other", "keys"),
    [
        (b"", BOTH),
        (b"torch.save({'epoch': 3}, path)\n", BOTH),
        (b"torch.save(net.state_dict(), path)\n", BOTH),
        (b"torch.save(affine, path)\n", BOTH),
        (b"torch.save({'epoch': 3}, torch.load(model_path)['path'])\n", BOTH),
        (b"torch.save({'epoch': 3}, path)\nnp.save(net, path)\n", BOTH),
        (b"def (:\n    base.keep(nets, path, keys='other')\n", BOTH),
        (b"def (:\n    torch.save(affine, path)\n", ()),
        (b"torch.save({'params': net.state_dict()}, path)\n", (("", "params_ema"),)),
        (b"torch.save({'params': weights}, path)\n", (("", "params_ema"),)),
        (b"state = {}\nstate[key] = net.state_dict()\ntorch.save(state, path)\n", ()),
        (b"torch.save(checkpoint, path)\n", ()),
    ],
)
def test_nothing_else_is_saved_under_the_key(other, keys):
    texts = {"base.py": SAVER, "other.py": b"import torch\n" + other}
    assert keys_on_host(texts, parse, texts) == keys


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"weight.cpu()", b"weight"),
        (
            b"                weights[",
            b"                if name in kept:\n                    continue\n                weights[",
        ),
        (b"held[key] = weights", b"held[key] = net"),
        (b"torch.save(held", b"torch.save(nets"),
    ],
)
def test_all_is_moved_and_saved(old, new):
    assert old in SAVER
    assert keys_on_host({"base.py": SAVER.replace(old, new)}, parse, ["base.py"]) == ()


def test_a_key_that_is_written_down():
    text = SAVER.replace(b"held[key]", b"held['weights']")
    assert keys_on_host({"base.py": text}, parse, ["base.py"]) == (("", "weights"),)


def test_two_files_of_a_program_move_the_same():
    texts = {"one.py": SAVER, "two.py": SAVER}
    assert keys_on_host(texts, parse, texts) == BOTH


WHOLE = b"import torch\n\nmodel.cpu()\ntorch.save(model, path)\n"


@pytest.mark.parametrize(
    ("other", "keys"),
    [
        (b"", (("", ""),)),
        (b"held['model'].cpu()\n    torch.save(held['model'], path)\n", (("", ""),)),
        (b"torch.save(model, path)\n", ()),
        (b"net.cpu()\ntorch.save(model, path)\n", ()),
        (b"model.cpu()\nmodel.cuda()\ntorch.save(model, path)\n", ()),
    ],
)
def test_whole_objects_that_were_moved_in_the_line_before(other, keys):
    texts = {"one.py": WHOLE, "other.py": b"import torch\n" + other}
    assert keys_on_host(texts, parse, texts) == keys
