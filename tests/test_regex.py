"""Patterns that wait to be asked: each is one that `re` accepts, and answers as `re`'s own does."""

from __future__ import annotations

import importlib
import pickle
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import porter
from porter.regex import _Lazy, lazy


def held(value: Any, depth: int = 2) -> Iterator[_Lazy]:
    if isinstance(value, _Lazy):
        yield value
    elif isinstance(value, (tuple, list, dict)) and depth:
        for inner in value.values() if isinstance(value, dict) else value:
            yield from held(inner, depth - 1)


@pytest.mark.slow
def test_every_pattern_of_porter_compiles() -> None:
    seen = 0
    for found in pkgutil.walk_packages(porter.__path__, "porter."):
        if found.name.startswith("porter.verify") or found.name == "porter.__main__":
            continue
        for pattern in held(list(vars(importlib.import_module(found.name)).values())):
            assert pattern.search is not None
            seen += 1
    assert seen > 400


@pytest.mark.slow
def test_no_module_compiles_a_pattern_when_it_is_imported() -> None:
    """But porter/verify/runtime, which runs without the rest of porter."""
    root = Path(porter.__file__).parent
    files = (path for path in sorted(root.rglob("*.py")) if "verify" not in path.relative_to(root).parts)
    assert not [p.name for p in files if re.search(r"^[A-Za-z_].*\bre\.compile\(", p.read_text("utf-8"), re.MULTILINE)]


def test_a_pattern_that_re_refuses_is_refused_when_it_is_asked() -> None:
    wrong = lazy("(")
    try:
        wrong.search("")
    except re.error as error:
        assert error.pattern == "("
    else:
        raise AssertionError("accepted")


def test_it_answers_like_a_pattern_and_survives_a_journey_to_a_worker() -> None:
    pattern = lazy(r"(?P<word>CUDA)", re.IGNORECASE)
    for one in (pattern, pickle.loads(pickle.dumps(pattern))):
        assert one.pattern == r"(?P<word>CUDA)"
        assert one.groups == 1 and one.groupindex == {"word": 1}
        assert one.sub("npu", "cuda Cuda") == "npu npu"
        assert one.search("nothing") is None
    asked = pickle.loads(pickle.dumps(pattern))  # as it is after all this
    assert asked.search("cuda")
