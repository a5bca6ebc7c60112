"""Which script starts the training of a repository."""

from __future__ import annotations

import pytest

from porter.project.program_options import launcher

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
    ],
)
def test_what_starts_a_test_is_not_the_training(paths: list[str], expected: str) -> None:
    assert launcher(dict.fromkeys(paths, STARTS)) == expected
