"""Which script starts the training of a repository."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import Porter, write

from porter.project.other_frameworks import of_others
from porter.project.program_options import by_module, launcher
from porter.project.program_options import takes as options_of
from porter.python.trees import parse

STARTS = b"torchrun main.py\n"


@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        (["scripts/test.sh"], ""),
        (["run_test.sh", "tools/eval.sh"], ""),
        (["evaluation/run.sh"], ""),
        (["tests/train.sh"], ""),
        (["tools/dist_test.sh", "tools/dist_train.sh"], "tools/dist_train.sh"),
        (["eval.sh", "run.sh"], "run.sh"),
        (["train_and_eval.sh"], "train_and_eval.sh"),
        (["contest/run.sh"], "contest/run.sh"),
        (["latest.sh"], "latest.sh"),
        (["quantized_finetune.sh", "train_sft.sh"], "train_sft.sh"),
        (["run_qlora.sh"], "run_qlora.sh"),
    ],
)
def test_what_starts_a_test_is_not_the_training(paths: list[str], expected: str) -> None:
    assert launcher(dict.fromkeys(paths, STARTS), of_others([], lambda path: None)) == expected


TENSORFLOW = b"import tensorflow as tf\n"


@pytest.mark.parametrize(
    ("program", "script", "expected"),
    [
        (TENSORFLOW, b"python train.py --log 1\npython -u train.py --log 2\n", "with_torch/run.sh"),
        (TENSORFLOW, b"python tf/train.py\n", "with_torch/run.sh"),
        (b"import torch\n" + TENSORFLOW, b"python train.py --log 1\n", "tf/train.sh"),
        (b"from models import net\n", b"python train.py --log 1\n", "tf/train.sh"),
        (TENSORFLOW, b"python train.py\npython fine_tune.py\n", "tf/train.sh"),
    ],
)
def test_what_starts_tensorflow_is_not_the_training(program: bytes, script: bytes, expected: str) -> None:
    programs = {"tf/train.py": program, "with_torch/train.py": b"import torch\n"}
    scripts = {"tf/train.sh": script, "with_torch/run.sh": b"python train.py\n"}
    assert launcher(scripts, of_others(programs, programs.get)) == expected


COMMAND = b"python -m torch.distributed.launch --nproc_per_node 8 %s train/main.py --workers 8\n"
OPTION = {"main.py": b'parser.add_argument("--local_rank", type=int)\n'}


@pytest.mark.parametrize(
    ("texts", "command", "programs"),
    [
        (OPTION, COMMAND % b"", ("main.py",)),
        (OPTION, COMMAND % b"\\\n   --master_port 9527 \\\n", ("main.py",)),
        (OPTION, COMMAND % b"--use_env", ()),
        (OPTION, COMMAND.replace(b"-m torch.distributed.launch", b"-m torch.distributed.run") % b"", ()),
        ({"main.py": b"import torch\n"}, COMMAND % b"", ()),
    ],
)
def test_what_the_old_launcher_starts(texts: dict[str, bytes], command: bytes, programs: tuple[str, ...]) -> None:
    assert by_module(texts, {"run.sh": command}, ["run.sh"], lambda _: None) == programs
    assert by_module(texts, {}, ["README.md"], {"README.md": command}.get) == programs


@pytest.mark.parametrize(
    ("flag", "declared", "takes"),
    [
        ("--dist-backend", "'--dist-backend'", True),
        ("--dist_backend", "'--dist-backend', '--dist_backend'", True),
        ("--dist-backend", "'--dist_backend'", False),  # argparse refuses it: another program's parser takes it
    ],
)
def test_an_option_is_taken_as_it_is_spelt(flag: str, declared: str, takes: bool) -> None:
    program = f"parser.add_argument({declared}, default='nccl')\n".encode()
    found = options_of([(flag, "nccl", "run.sh")], {"main.py": program}, parse)
    assert bool(found) is takes


def test_options_that_a_file_without_imports_lists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`{"--local_rank": {...}}`: the launcher passes the other spelling, and no edit of porter lists it."""
    listed = 'OPTIONS = {\n    "--local_rank": {"type": int, "dest": "local_rank"},\n}\n'
    program = (
        "import argparse\n\nimport torch\n\nfrom config import OPTIONS\n\nparser = argparse.ArgumentParser()\n"
        "for flag, about in OPTIONS.items():\n    parser.add_argument(flag, **about)\n"
    )
    script = "python -m torch.distributed.launch --nproc_per_node=2 main.py\n"
    for started, codes in ((script, [("config.py", 2)]), ("torchrun main.py\n", [])):
        command = 'import torch\n\nCOMMAND = {"--local_rank": 0, "--gpus": torch.cuda.device_count()}\n'  # no options of a parser
        files = {"config.py": listed, "main.py": program, "run.sh": started, "command.py": command}
        write(tmp_path, {"porter.toml": "", **files})
        told = json.loads(Porter(monkeypatch, tmp_path)("analyze", ".", "--format", "json").out)["findings"]
        assert [(f["path"], f["line"]) for f in told if f["code"] == "PRT215"] == codes
