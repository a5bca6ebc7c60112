"""Facts that need more than one file, where a hook and a full run would otherwise differ."""

from __future__ import annotations

import pytest
from files_world import make

from porter.run.gather import gather

USES = {
    "a keyword": "f(device=PLACE)",
    "an argument of a call about devices": "x = x.to(PLACE)",
    "a comparison": "if args.device == PLACE:\n    pass",
    "a name that says it": "device = PLACE",
    "an attribute that says it": "self.default_device = PLACE",
    "none: a name that says something else": "title = PLACE",
    "none: compared with something else": "if args.title == PLACE:\n    pass",
    "none: an argument of something else": "show(PLACE)",
    "none: read alone": "print",
}


@pytest.mark.parametrize("use", USES)
def test_a_constant_is_a_device_where_another_file_takes_it_for_one(tmp_path, use):
    make(tmp_path, "config.py", text='import torch\nPLACE = "cuda"\n')
    make(tmp_path, "train.py", text=f"import torch\nfrom config import PLACE\n{USES[use]}\n")
    constants = gather(tmp_path, ["config.py", "train.py"]).constants
    assert constants == (() if use.startswith("none") else (("config.py", "PLACE", "device", "train.py"),))
