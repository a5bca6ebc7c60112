"""What conditions are on an NPU, as far as their text says it."""

from __future__ import annotations

import ast

import pytest

from porter.python.evaluate import truth


@pytest.mark.parametrize(
    ("condition", "answer"),
    [
        ("torch.version.cuda is None", True),
        ("torch.version.cuda is not None", False),
        ("torch.version.hip == None", True),
        ("x.device.type == 'cuda'", False),
        ("x.device.type != 'cuda'", True),
        ("not torch.version.cuda", True),
        ("torch.version.git_version is None", None),
    ],
)
def test_what_a_condition_is_on_an_npu(condition: str, answer: bool | None) -> None:
    assert truth(ast.parse(condition, mode="eval").body) is answer
