"""What rules a search out never rules out a text that the pattern matches."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from drawn import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from porter.analysis.session import open_session
from porter.python import aware
from porter.python.searches import Sought, letters, matched, may_say
from porter.python.source import Lines, Source
from porter.python.strings import environ, literals
from porter.regex import lazy, rare
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
        (r"\u0041bc\U00000041de\N{DIGIT ONE}f", [b"bc", b"de", b"f"]),
        (r"\d+\s*\[", [b""]),
        ("one|other", [b""]),
        ("(?i)cuda", [b""]),
        ("(?:a|b)|c", [b""]),
    ],
)
def test_letters(pattern: str, runs: list[bytes]) -> None:
    assert letters(pattern) == runs


@pytest.mark.parametrize(
    ("pattern", "text", "may"),
    [
        (r"\bray\.get\b|\bWorkers\b", "x = array.get(1)", False),  # `ray` has to be a whole word
        (r"\bray\.get\b|\bWorkers\b", "Workers()", True),
        (r"\bray\.?x", "raylax arrayx", True),  # the point may be absent
        (r"\bray", "rays", True),
        (r"\.byte\(|(?<!np\.)\buint8\b", "x.bits()", False),
        (r"\.byte\(|(?<!np\.)\buint8\b", "uint8", True),
        ("(?i)Scaler", "GradScaler", True),
        ("(?i)Scaler", "scale", False),
        ("[xy]|scaler", "scale", True),  # nothing is known of the first
        ("(?m)^import", "from", False),
        ("(?x) im port", "import", True),
    ],
)
def test_what_words_leave_open(pattern: str, text: str, may: bool) -> None:
    for sought in (lazy(pattern.encode()), re.compile(pattern.encode())):
        assert may_say(Lines(text.encode()), sought) is may
        assert may or not sought.search(text.encode())
        assert Source(text.encode()).says(sought) is bool(sought.search(text.encode()))


WORDS = ["foo", "Bar", "_x", "a", "b", "9"]
ATOMS = [
    *WORDS,
    r"\b",
    r"\.",
    r"\(",
    r"\w",
    "[ab]",
    "[^a]",
    "[]a]",
    "é",
    "(?<!a)",
    "(?=b)",
    "(?i:foo)",
    "(a|foo)",
    "(?:foo|Bar)",
    "(|a)",
    "(?P<name>foo|b)",
    "(?:b.)",
    "^",
]
TIMES = ["", "", "", "?", "*", "+", "??", "{0,1}", "{2}", "?+"]
BRANCH = st.lists(st.tuples(st.sampled_from(ATOMS), st.sampled_from(TIMES)), min_size=1, max_size=4)
TEXT = st.lists(st.sampled_from([*WORDS, "fo", "FOO", "bar", ".", "(", " ", "é", "]", "\n"]), max_size=6)


@pytest.mark.slow
@settings(max_examples=examples(600))
@given(
    st.lists(BRANCH, min_size=1, max_size=2),
    st.lists(TEXT, min_size=8, max_size=8),
    st.booleans(),
    st.sampled_from([0, re.I]),
)
def test_no_match_is_ruled_out(branches, texts, begins, flags):
    pattern = "|".join(r"\b" * begins + "".join(atom + times for atom, times in branch) for branch in branches)
    try:
        sought = re.compile(pattern.encode(), flags)
    except re.error:
        return
    for text in ("".join(words).encode() for words in texts):
        if sought.search(text):
            assert may_say(Lines(text), sought) and may_say(Lines(text), lazy(pattern.encode(), flags))
        seldom = rare(pattern.encode(), flags)
        assert bool(seldom.search(text)) == bool(sought.search(text)) and seldom.findall(text) == sought.findall(text)
        assert [match.span() for match in seldom.finditer(text)] == [match.span() for match in sought.finditer(text)]


def test_flags_that_are_no_part_of_a_pattern() -> None:
    assert may_say(Lines(b"scaler"), lazy(b"SCALER", re.IGNORECASE))
    assert may_say(Lines(b"import"), lazy(b"im port", re.VERBOSE))
    assert not may_say(Lines(b"import"), lazy(b"im sport", re.MULTILINE))


def test_a_plain_text() -> None:
    assert Source(b"x['ab_c']").says(b"['ab_c']") and not Source(b"x['abc']").says(b"['ab_c']")
    assert Source(b"a = ...").says(b"...")


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
