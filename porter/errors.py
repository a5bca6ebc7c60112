"""What the user can cure: one line on stderr, exit code 2."""

from __future__ import annotations

from collections.abc import Iterable


class UserError(Exception):
    pass


def suggestion(word: str, known: Iterable[str]) -> str:
    """`; did you mean X?`, or nothing."""
    import difflib

    near = difflib.get_close_matches(word, sorted(known), 1, 0.6)
    return f"; did you mean {near[0]!r}?" if near else ""
