"""The command in which a place of a script stands, found by its text: a script is parsed only where it holds a word of CUDA's."""

from __future__ import annotations

from porter.regex import lazy

# a string, which may hold anything, or what ends a command; `2>&1` ends none
_QUOTED_OR_END = lazy(r"""'[^']*'|"[^"]*"|\\.|((?<!>)&+|[;|]+)""")


def command_at(text: str, at: int) -> tuple[int, int]:
    """Where the command begins and ends; what other commands of its lines are given is no matter of it."""
    start, end = text.rfind("\n", 0, at) + 1, text.find("\n", at)
    while start > 1 and text[: start - 1].endswith("\\"):
        start = text.rfind("\n", 0, start - 1) + 1
    while end > 0 and text[end - 1] == "\\":
        end = text.find("\n", end + 1)
    end = end if end >= 0 else len(text)
    ends = [match.span() for match in _QUOTED_OR_END.finditer(text, start, end) if match[1]]
    before, after = [e for _, e in ends if e <= at], [s for s, _ in ends if s >= at]
    return before[-1] if before else start, after[0] if after else end
