"""The GradScaler that takes the place of apex.amp: torch's own takes a device only from 2.3 on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import Porter, write


@pytest.mark.parametrize(
    ("target", "style", "scaler"),
    [
        ("2.13.0", "rename", '`torch.amp.GradScaler("npu")`'),
        ("2.13.0", "portable", "`torch.amp.GradScaler(accelerator_type)`"),
        ("2.1.0.post17", "rename", "`torch.npu.amp.GradScaler()`"),
        ("2.1.0.post17", "portable", "`accelerator_module.amp.GradScaler()`"),
    ],
)
def test_the_scaler_that_is_told_is_one_of_the_target(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str, style: str, scaler: str
) -> None:
    text = 'import torch\nfrom apex import amp\n\n\ndef start(build):\n    parts = build()\n    return amp.initialize(*parts, opt_level="O1")\n'
    write(tmp_path, {"porter.toml": f'target = "torch_npu={target}"\nstyle = "{style}"\n', "start.py": text})
    found = json.loads(Porter(monkeypatch, tmp_path)("analyze", ".", "--format", "json").out)["findings"]
    (message,) = (finding["message"] for finding in found if finding["code"] == "PRT350")
    assert message.startswith(f"replace `amp.initialize` by {scaler} ")
