"""Finds the comments of a Python file."""

from __future__ import annotations

import io
import tokenize
from bisect import bisect_left
from collections.abc import Iterator
from typing import Any, Protocol

from porter.engine.suppress import SPOKEN, Comment
from porter.python.stored import LINE_END, Stored


class _Commented(Protocol):
    """The part of `Source` (python/source.py) that this module needs."""

    stored: Stored
    utf8: bytes

    @property
    def starts(self) -> list[int]: ...
    @property
    def comments(self) -> list[tuple[int, int, str]]: ...
    def line_end(self, offset: int) -> tuple[int, int]: ...


def comments(utf8: bytes) -> list[tuple[int, int, str]]:
    """(line, column in characters, text) of each comment. Below a line that the tokenizer of the Python that runs cannot read,
    every number sign counts as the begin of a comment."""
    text, comments, line = LINE_END.sub(b"\n", utf8).decode("utf-8"), [], 0  # the tokenizer does not know a lone \r
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            line = token.end[0]
            if token.type == tokenize.COMMENT:
                comments.append((*token.start, token.string))
    except (tokenize.TokenError, SyntaxError):
        for number, row in enumerate(text.split("\n")[line:], line + 1):
            if "#" in row:
                comments.append((number, row.index("#"), row[row.index("#") :]))
    return comments


def on_lines(source: Any, first: int, last: int) -> list[tuple[int, int, str]]:
    """The comments on these lines of a Source."""
    comments: list[tuple[int, int, str]] = source.comments
    begin = bisect_left(comments, (first, 0, ""))
    return comments[begin : bisect_left(comments, (last + 1, 0, ""), begin)]


def to_porter(source: _Commented) -> Iterator[Comment]:
    """All comments of a file that contains `porter:`, for engine/suppress.py to find those that speak to porter. Of another file
    none: it is not tokenized."""
    if SPOKEN in source.stored.data:
        for line, column, text in source.comments:
            start = source.starts[line - 1]
            before = source.utf8[start : source.line_end(start)[0]].decode("utf-8")[:column]
            yield Comment(line, column + 1, text[1:], not before.strip())
