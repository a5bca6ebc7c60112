"""What rules a search out never rules out a text that the pattern matches."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from porter.analysis.session import open_session
from porter.python import aware
from porter.python.searches import Sought, letters, matched
from porter.python.source import Source
from porter.python.strings import environ, literals
from porter.values import patterns

FIXTURES = Path(__file__).parents[1] / "fixtures"


@pytest.mark.parametrize(
    ("pattern", "runs"),
    [
        ("nvidia-smi", [b"nvidia", b"smi"]),
        (r"torch\._six\b", [b"torch", b"_six"]),
        (r"e1[2-5]\b", [b"e1"]),
        (r"ab?cd{2}e", [b"a", b"c", b"e"]),
        (r"ab*cd+e", [b"cd", b"a", b"e"]),
        (r"x(?:yes|no)z", [b"x", b"z"]),
        (r"x(?:yes)?", [b"x"]),
        (r"[^])a]bc", [b"bc"]),
        (r"a\x27bc\(de", [b"bc", b"de", b"a"]),
        (r"\d+\s*\[", [b""]),
        ("one|other", [b""]),
        ("(?i)cuda", [b""]),
        ("(?:a|b)|c", [b""]),
    ],
)
def test_letters(pattern: str, runs: list[bytes]) -> None:
    assert letters(pattern) == runs


@pytest.mark.slow
def test_what_is_ruled_out_does_not_match() -> None:
    rules = open_session().rules
    texts = [text for rule in rules.all for text in ((rule.text,) if isinstance(rule.text, str) else rule.text)]
    known = [one for *_, several in rules.keys.node_filters for one in several]
    sought = {one.pattern.pattern: one for one in (*known, *patterns._WORDS, *patterns._MODULES, *environ._BYTES)}
    assert len(texts) > 60 and {text.removeprefix(r"\b").encode() for text in texts} <= sought.keys()
    edges = {text.removeprefix(r"\b").encode(): re.compile(text.encode()) for text in texts}
    hits = 0
    for path in sorted(FIXTURES.glob("*/before.py")):
        source = Source(path.read_bytes())
        for text, one in sought.items():
            if edges.get(text, one.pattern).search(source.utf8):
                hits += 1
                assert matched(source, [one])[0] == [one.pattern], (path.parent.name, text)
        for one in (*literals.BYTES, *aware._BYTES, *aware._OTHER_BYTES):
            lines = [source.line(m.start()) for m in one.pattern.finditer(source.utf8.lower())]
            assert matched(source, [one], lowered=True)[1] == sorted({*lines})
            hits += bool(lines)
    assert hits > 200


def test_lines() -> None:
    source = Source(b"import os\nx = cuda(1)\r\ny = (cuda(2), cuda(3))\nz = 'CUDA('\n")
    cuda, other = Sought(r"cuda\("), Sought(r"\bother\(")
    assert matched(source, [cuda, other]) == ([cuda.pattern], [2, 3])
    assert matched(source, [cuda], lowered=True) == ([cuda.pattern], [2, 3, 4])
    assert matched(source, [other]) == ([], [])
