"""Files that only programs for TensorRT use stay as they are; what anybody else uses is ported."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import Porter, write

UTILS = "import torch\n\n\ndef wait():\n    torch.cuda.synchronize()\n"
PROGRAM = (
    'import tensorrt as trt\nfrom utils import wait\n\nif __name__ == "__main__":\n    print(trt.__version__, wait())\n'
)
TRIED = "try:\n    import tensorrt as trt\nexcept ImportError:\n    trt = None\n" + PROGRAM.partition("\n")[2]
NOTEBOOK = (
    '{"cells": [{"cell_type": "code", "source": ["import utils"]}], "nbformat": 4, "nbformat_minor": 5, "metadata": {}}'
)


@pytest.mark.parametrize(
    ("more", "is_left"),
    [
        ({}, True),
        ({"helpers.py": "from utils import wait\n", "bench.py": PROGRAM.replace("from utils", "from helpers")}, True),
        ({"train.py": "from utils import wait\n\nwait()\n"}, False),
        ({"bench.py": TRIED}, False),
        ({"show.ipynb": NOTEBOOK}, False),
        ({"run.sh": "python utils.py\n"}, False),
        ({"utils.py": UTILS + '\n\nif __name__ == "__main__":\n    wait()\n'}, False),
    ],
    ids=["alone", "by-another", "trained", "tried", "notebook", "script", "program"],
)  # fmt: skip
def test_what_only_lost_programs_use_stays(tmp_path: Path, monkeypatch, more: dict[str, str], is_left: bool) -> None:
    write(tmp_path, {"utils.py": UTILS, "bench.py": PROGRAM, **more})
    porter = Porter(monkeypatch, tmp_path)
    assert porter("migrate", ".", "--inplace").code == 0
    assert ("torch.cuda.synchronize" in (tmp_path / "utils.py").read_text()) is is_left
