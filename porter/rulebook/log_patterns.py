"""What can be told of a pattern before it is used: letters that every match holds or begins with, and whether it is bounded."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

try:
    from re import _constants, _parser  # type: ignore[attr-defined]  # since Python 3.11, and in no stub
except ImportError:  # Python 3.10
    import sre_constants as _constants
    import sre_parse as _parser

LEAST = 4  # letters in a row


def needle(pattern: str) -> str:
    """The longest text that every line with a match must hold; "" where there is none."""
    best = run = ""
    for op, argument in [*_parser.parse(pattern), (None, None)]:
        if op is _constants.LITERAL:
            run += chr(argument)
            continue
        best, run = max(best, run, key=len), ""
        if op is _constants.SUBPATTERN:
            best = max(best, *(_runs(argument[-1])), key=len)
    return best


def head(pattern: str) -> str:
    """The text with which every match begins; "" where there is none."""
    text = ""
    for op, argument in _parser.parse(pattern):
        if op is not _constants.LITERAL:
            break
        text += chr(argument)
    return text


def wrong(pattern: object) -> str | None:
    """What is wrong with a pattern of rules/diagnose.toml."""
    if not isinstance(pattern, str) or not pattern:
        return "is not a regular expression"
    try:
        parsed = _parser.parse(pattern)
    except re.error as error:
        return f"is no regular expression: {error}"
    if _unbounded(parsed):
        return "repeats without a bound: write {0,80} for * and {1,80} for +"
    if len(needle(pattern)) < LEAST:
        return f"has no {LEAST} letters in a row outside of alternatives"
    return None


def _runs(parsed: Iterable[Any]) -> list[str]:
    """Runs of letters of a group that is always there."""
    runs, run = [""], ""
    for op, argument in [*parsed, (None, None)]:
        if op is _constants.LITERAL:
            run += chr(argument)
        else:
            runs.append(run)
            run = ""
    return runs


def _unbounded(parsed: Iterable[Any]) -> bool:
    for op, argument in parsed:
        if op in (_constants.MAX_REPEAT, _constants.MIN_REPEAT):
            if argument[1] is _constants.MAXREPEAT or _unbounded(argument[2]):
                return True
        elif op is _constants.SUBPATTERN and _unbounded(argument[-1]):
            return True
        elif op is _constants.BRANCH and any(map(_unbounded, argument[1])):
            return True
        elif op in (_constants.ASSERT, _constants.ASSERT_NOT) and _unbounded(argument[1]):
            return True
    return False
