"""The imports of a text are found by their words, and are those that its lines have."""

from __future__ import annotations

from pathlib import Path

import pytest

from porter.project.definitions import _FROM, _IMPORT, _of_lines, imported_names

TEXTS = Path(__file__).parents[1] / "fixtures"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (b"from a.b import c, d as e\nimport x.y as z, w\n", {"a.b", "a.b.c", "a.b.d", "x.y", "w"}),
        (b"if 1:\n\tfrom . import (c,\n    d)\n", {".", ".c", ".d"}),
        (b"from a import b \\\n    , c; from d import e", {"a", "a.b", "a.c"}),
        (b"x = 1; import y\nfromage import z\n# from a import b\n", set()),
        (b"import a  # import b\nimporter = 1\n  import c", {"a", "c"}),
        (b"from a import (b\nfrom c import d\nimport e", {"a", "a.b", "e"}),
    ],
)
def test_names(text: bytes, names: set[str]) -> None:
    assert imported_names(text) == names


@pytest.mark.slow
def test_the_matches_are_those_of_the_patterns() -> None:
    found = 0
    for path in sorted(TEXTS.glob("*/before.*")):
        text = path.read_bytes()
        whole = [*_of_lines(_FROM, b"from", text)]
        assert whole == _FROM.findall(text), path.parent.name
        assert [name for (name,) in _of_lines(_IMPORT, b"import", text)] == _IMPORT.findall(text), path.parent.name
        found += len(whole)
    assert found > 100
