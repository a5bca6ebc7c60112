"""Functions of a project that say which kind of device there is."""

from __future__ import annotations

import pytest

from porter.project.device_answers import device_answers
from porter.python.trees import parse


@pytest.mark.parametrize(
    ("parameters", "is_asked"),
    [
        ("", True),
        ("kind=None", True),
        ("kind=None, /", True),
        ("*, kind=None", True),
        ("kind", False),
        ("kind, /, other=1", False),
        ("*, kind", False),
    ],
)
def test_nothing_has_to_be_handed_over(parameters: str, is_asked: bool) -> None:
    text = f'def get_device({parameters}):\n    return "npu" if ask() else "cuda"\n'.encode()
    assert device_answers({"a.py": text}, parse) == ((("a.py", "get_device"),) if is_asked else ())
