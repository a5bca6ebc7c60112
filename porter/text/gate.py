"""Asked of every file that is not Python before a parser is loaded: can it concern porter at all?

The words come from rules/*.toml (rulebook/opening.py). Of settings and requirements they are looked for in lower case, one
search for each plain word: a hundredth of the time of one for all in any case.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

from porter.files import kinds
from porter.regex import lazy
from porter.rulebook.gate import GATE, opening

# the words of which the rules give for each kind of file
_WORDS: dict[str, tuple[str, ...]] = {
    kinds.YAML: ("settings", "yaml"),
    kinds.JSON: ("settings",),
    kinds.TOML: ("settings", "requirements"),
    kinds.INI: ("settings", "requirements"),
    kinds.REQUIREMENTS: ("requirements",),
}
_PATTERNS = {
    kinds.NOTEBOOK: "notebook",
    kinds.SHELL: "script",
    kinds.MAKEFILE: "script",
    kinds.DOCKERFILE: "script",
    kinds.NATIVE: "source",
    kinds.PAGE: "page",
}
_ESCAPED = r"\\u00[4-7]"  # JSON may spell a letter as \u0063; nobody who has no reason to does
_RECORDS = lazy(rb"(?:\xef\xbb\xbf)?\s*\[")  # a list is data
_Search = Callable[[bytes], "re.Match[bytes] | None"]
KINDS = frozenset({*_PATTERNS, *_WORDS})  # what porter reads beside Python

# what porter itself wrote: findings, baselines, results of `verify`, as JSON or SARIF
_OWN = lazy(rb'\s*\{\s*"(?:schema": \d+,\s*"porter"|porter-baseline"|format": \d+,\s*"verdict"|\$schema": "[^"]*sarif)')


def concerns(kind: str, data: bytes) -> bool:
    if kind == kinds.JSON and (_OWN.match(data) or _RECORDS.match(data)):
        return False
    if kind == kinds.PAGE:  # it is for people: that porter cannot read one is nothing to report
        return _search(kind)(data) is not None and _utf8(data)
    if kind in _PATTERNS:
        return _search(kind)(data) is not None or kind == kinds.NOTEBOOK and GATE.search(data)
    low = data.lower()
    words, searches = _lowered(kind)
    return any(word in low for word in words) or any(search(low) for search in searches)


def _utf8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


@cache
def _search(kind: str) -> _Search:
    """Words that some rule of that kind starts from, in any case."""
    pattern = opening()[_PATTERNS[kind]] + (f"|{_ESCAPED}" if kind == kinds.NOTEBOOK else "")
    return re.compile(pattern.encode(), re.IGNORECASE).search


@cache
def _lowered(kind: str) -> tuple[tuple[bytes, ...], tuple[_Search, ...]]:
    tables = [opening()[name] for name in _WORDS[kind]]
    words = dict.fromkeys(word.encode() for words, _ in tables for word in words)
    return tuple(words), tuple(re.compile(pattern.encode()).search for _, patterns in tables for pattern in patterns)
