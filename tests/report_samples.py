"""Repositories for the tests of the report: an ordinary one, and one that means harm to whoever reads of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import Porter, write

ORDINARY = {
    "requirements.txt": "torch==2.7.1\n",
    "setup.py": "",
    "train.py": """\
import os

import torch
import torch.distributed as dist


def main(rank):
    dist.init_process_group("nccl", rank=rank)
    torch.cuda.set_device(rank)
    model = torch.nn.DataParallel(torch.nn.Linear(4, 4)).cuda()
    if torch.cuda.get_device_capability() >= (8, 0):
        model = model.bfloat16()
    torch.cuda.empty_cache()  # porter: ignore[PRT101] measured on GPUs
    return model


if __name__ == "__main__":
    main(0)
""",
    "lib/util.py": "import torch\n\n\ndef wait():\n    torch.cuda.synchronize()\n",
    "lib/old.py": "import torch\nprint 'cuda'\n",
    "lib/clean.py": "def f():\n    return 1\n",
    "lib/attention.py": """\
from flash_attn import flash_attn_func, flash_attn_varlen_func
from flash_attn.bert_padding import (
    pad_input,  # and back
    unpad_input as unpad,
)


def attend(q, k, v):
    return flash_attn_func(q, k, v)
""",
    "run.sh": """\
#!/bin/bash
export NCCL_DEBUG=INFO
export CUDA_VISIBLE_DEVICES=0,1
torchrun --nproc_per_node 2 train.py
""",
}
MARKUP = "</script><script>document.title='broken'</script><img src=x onerror=alert(1)>"
RTL, BELL = "\u202e", "\x07"
HOSTILE = {
    "setup.py": "",
    "a<b>&'x.py": f"import torch\ntorch.cuda.synchronize()  # {MARKUP} {RTL}evil{BELL} `::error::`\n".encode(),
    "bad.py": b"import torch\nx = '\xff\xfe'\ntorch.cuda.synchronize()\n",
    "wide.py": "import torch\nx = '" + "y" * 100_000 + "'; torch.cuda.synchronize()\n",
    "=cmd|x.py": "import torch\ntorch.cuda.synchronize()  # porter: ignore[PRT101] =1+1 <b>|pipe\n",
}


def document_of(folder: Path, files: dict[str, str]) -> dict:
    """What `porter analyze` says of them, for a fixture of many tests that only read it."""
    with pytest.MonkeyPatch.context() as patch:
        return json.loads(made(patch, folder / "r", files)("analyze", ".", "--format", "json").out)


def made(patch, folder: Path, files: dict) -> Porter:
    folder.mkdir()
    return Porter(patch, write(folder, files))
