"""Parses Python with `ast`, within limits: a tree takes some 500 bytes for each word and each sign."""

from __future__ import annotations

import ast
import io
import re
import tokenize
import warnings
from collections.abc import Callable

from porter.errors import Unreadable
from porter.regex import lazy

Parse = Callable[[bytes], "ast.Module | None"]
FAULTS = (SyntaxError, ValueError, RecursionError, MemoryError)  # a ValueError is about null bytes
# limits of words and signs, so that the trees of a file stay below 500 MiB together
MOST = 450_000  # of one file
MOST_FOR_LIBCST = 60_000  # of the text that LibCST parses at once: its trees are eight times as large
_LONGEST = 1_000_000  # characters of that text: LibCST takes 150 bytes for each
_KEPT = 512_000  # bytes of the texts whose trees are kept: these take a hundred times as many
_DEEPEST = (
    100  # levels of a tree. Nobody writes half as many, and a recursive function may take several calls for a level
)
# statements that only Python 2 knows
_PYTHON2 = lazy(
    rb"^[ \t]*(print[ \t]+[\"'\w]|exec[ \t]+[\"'\w]|except[ \t]+[\w.]+[ \t]*,[ \t]*\w+[ \t]*:|raise[ \t]+\w+[ \t]*,)",
    re.M,
)
# an argument of these, until Python 3.7 made it a keyword
_ASYNC = lazy(r"\.(?:cuda|copy_|type|to)\([^()]*\basync[ \t]*=(?!=)")
_OTHERS = lazy(rb"#!(?!.*python)")  # the first line of a script in another language
_PARTS = lazy(r"\d|[^\W\d]\w*|[^\w\s]")  # words and signs; `1if` is two words
_CODE_INSIDE = lazy(r"[bru]*f", re.IGNORECASE)  # the prefix of an f-string


def tree_of(text: str | bytes) -> ast.Module:
    """The tree of a text. Raises one of FAULTS."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # escapes in strings
        return ast.parse(text)


def parse_or_refuse(utf8: bytes) -> ast.Module:
    """The tree of a text. Raises Unreadable, which says why there is none."""
    text = utf8.decode("utf-8")  # text, not bytes: a coding line must not be applied a second time
    if not fits(text):
        raise Unreadable("vast", f"{MOST:,}")
    try:
        return tree_of(text)
    except SyntaxError as error:
        key = "python2" if _PYTHON2.search(utf8) and not _OTHERS.match(utf8) else "syntax"
        key = "async" if key == "syntax" and _ASYNC.search(error.text or "") else key
        raise Unreadable(key, error.msg or "invalid syntax", error.lineno or 1) from None
    except ValueError as error:  # null bytes
        raise Unreadable("syntax", str(error)) from None
    except (RecursionError, MemoryError):
        raise Unreadable("deep") from None


class _Latest:
    """The trees that were asked last: several facts of a project ask for the same file one after the other."""

    def __init__(self) -> None:
        self._trees: dict[str | bytes, ast.Module] = {}  # the latest is the last
        self._size = 0

    def of(self, data: str | bytes) -> ast.Module:
        tree = self._trees.pop(data, None)
        if tree is None:
            tree, self._size = tree_of(data), self._size + len(data)
            while self._size > _KEPT:
                oldest = next(iter(self._trees))
                self._size -= len(oldest)
                del self._trees[oldest]
        self._trees[data] = tree
        return tree


_latest = _Latest()


def parse(data: str | bytes) -> ast.Module | None:
    """The tree of a text; None where it is not Python, or too long."""
    try:
        if not fits(data):
            return None
        return _latest.of(data) if len(data) <= _KEPT else tree_of(data)
    except FAULTS:
        return None


def shallow(data: bytes) -> ast.Module | None:
    """The same, but None where the tree is too deep for a recursive function."""
    tree = parse(data)
    level: list[ast.AST] = [tree] if tree else []
    for _ in range(_DEEPEST):
        level = [inner for node in level for inner in ast.iter_child_nodes(node)]
    return None if level else tree


def fits(text: str | bytes, most: int = MOST) -> bool:
    """Whether a text has at most `most` words and signs, outside of strings and comments."""
    if len(text) <= most:
        return True
    text = text if isinstance(text, str) else text.decode("utf-8", "replace")
    if "\0" in text:
        return True  # the parser refuses it at once
    # an upper bound, in a fraction of the time: beside its words and signs, a line has an end, an indent and a dedent
    if len(_PARTS.findall(text)) + 3 * text.count("\n") + 2 * text.count("{") + 4 <= most:
        return True
    lines = io.StringIO(text)
    many = 0
    try:
        for token in tokenize.generate_tokens(lines.readline):
            many += token.type not in (tokenize.COMMENT, tokenize.NL)
            if token.type == tokenize.STRING and _CODE_INSIDE.match(token.string):
                many += 2 * token.string.count("{")
            if many > most:
                return False
    except (tokenize.TokenError, SyntaxError):
        pass  # the parser says what is wrong
    return True


def fits_libcst(text: str) -> bool:
    return len(text) <= _LONGEST and fits(text, MOST_FOR_LIBCST)
