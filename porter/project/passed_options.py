"""Finds options with a device or a backend that the files of a project pass to its programs: `--device cuda`."""

from __future__ import annotations

import ast
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator

from porter.files.kinds import PYTHON, SHELL, kind_of
from porter.python.evidence import call_name, constant, is_log
from porter.python.index import Node
from porter.python.trees import Parse
from porter.python.walks import walk
from porter.regex import lazy, rare

# an option and its value. The length of the name is limited: otherwise a text of many dashes takes very long
_PASSED = rare(
    rb"(--?[A-Za-z][\w.-]{0,100})(?:[ \t]+|=|[\"'],[ \t]*[\"'])[\"']?(?:\$\{\w+:?[-=])?(cuda(?::\d+)?|nccl)\b"
)
# `backend=nccl` in a script, and `--backend $backend`
_HELD = lazy(
    rb"^[ \t]*(?:(?:export|local|declare|readonly)[ \t]+)?(\w+)=[\"']?(?:\$\{\w+:?[-=])?(cuda(?::\d+)?|nccl)\}?[\"']?[ \t]*(?:[;#\r\n]|\Z)",
    re.MULTILINE,
)
_HANDED = lazy(rb"(--?[A-Za-z][\w.-]{0,100})(?:[ \t]+|=)[\"']?\$\{?(\w+)")
# arguments with the texts of a parser of options, and of a test that does not run
_ABOUT = frozenset({"description", "epilog", "help", "usage", "reason", "msg", "message"})
_SKIPS = frozenset({"skip", "skipTest", "fail", "xfail", "importorskip"})


def options_passed(path: str, data: bytes, parse: Parse) -> Iterator[tuple[str, str]]:
    """(option, value) of what a file passes."""
    found = [*_PASSED.finditer(data)]
    if found and kind_of(path) == PYTHON and (tree := parse(data)) is not None:
        ran = _Ran(tree, data)
        found = [match for match in found if ran.has(match.start())]
    for match in found:
        yield match[1].decode(), match[2].decode()
    held: dict[bytes, set[bytes]] = {}
    for name, value in _HELD.findall(data) if kind_of(path) == SHELL else ():
        held.setdefault(name, set()).add(value)
    for flag, name in _HANDED.findall(data) if held else ():
        yield from ((flag.decode(), value.decode()) for value in held.get(name, ()))


class _Ran:
    """The strings of a program that may be part of a command. Comments, docstrings and what a person is told are none: there a
    program only says how somebody calls it."""

    def __init__(self, tree: ast.Module, data: bytes):
        self._end = len(data)
        self._quotes = [match.start() for match in re.finditer(b"`", data)]
        self._lines = [0]
        for line in data.splitlines(keepends=True):
            self._lines.append(self._lines[-1] + len(line))
        nodes = [*walk(tree)]
        parts = (
            part for node in nodes for part in (*_told(node), *(node.values if node.__class__ is ast.JoinedStr else ()))
        )
        told = {id(text) for part in parts for text in walk(part)}
        texts = (node for node in nodes if _is_text(node) and id(node) not in told)
        self._spans = sorted(
            (self._offset(n.lineno, n.col_offset), self._offset(n.end_lineno, n.end_col_offset)) for n in texts
        )

    def has(self, offset: int) -> bool:
        """Whether an option begins in such a string, and not in backquotes, which quote a command for people."""
        index = bisect_right(self._spans, (offset, self._end)) - 1
        if index < 0 or offset >= self._spans[index][1]:
            return False
        before = bisect_left(self._quotes, offset) - bisect_left(self._quotes, self._spans[index][0])
        return before % 2 == 0

    def _offset(self, line: int, column: int) -> int:
        return self._lines[line - 1] + column


def _is_text(node: Node) -> bool:
    return node.__class__ is ast.JoinedStr or isinstance(constant(node), str)


def _told(node: Node) -> list[Node]:
    """What only a person reads: a string that stands for itself, what is logged or raised, the texts of a parser. And what is
    compared, which is handed to nobody."""
    if node.__class__ is ast.Expr and _is_text(node.value):
        return [node.value]
    if node.__class__ is ast.Compare:
        return [node.left, *node.comparators]
    if node.__class__ is ast.Raise:
        return [node.exc] if node.exc is not None else []
    if node.__class__ is not ast.Call:
        return []
    if is_log(node.func, call_name(node.func)) or call_name(node.func) in _SKIPS:
        return [*node.args, *node.keywords]
    return [keyword.value for keyword in node.keywords if keyword.arg in _ABOUT]
