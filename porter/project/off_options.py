"""Finds branches that no run with the project's own settings takes, because each place that sets the option switches it off.

Examples are `if cfg.fused:` if all settings say `fused: false`, `if self.kind == "l2":` if all say something else, and
`if cfg.copies > 1:` if all say 1. It does not hold for an option that a command line offers, that a program computes, or that
nothing sets.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from porter.files.kinds import PYTHON, kind_of
from porter.project.meant_names import is_comment
from porter.python.blocks import once
from porter.python.evidence import constant
from porter.python.walks import statements
from porter.regex import lazy
from porter.spans import Span

# gives the files that contain a word, and their texts, those near a file first; None if that is not known
Texts = Callable[[bytes, str], "Iterable[tuple[str, bytes]] | None"]
_OFF = lazy(rb"(?i)(?:False|off|no|None|null|0|~)\s*$")  # a value that switches an option off
_STRING = lazy(rb"[rbu]?([\"'])((?:(?!\1).)*)\1$", re.DOTALL)  # one alone: of two, a program chooses
_PLAIN = lazy(rb"[\w.+-]+$")  # a string of YAML, without quotes
_NUMBER = lazy(rb"-?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?$")
_MAY_BE_OPTION = lazy(r"_|[A-Z]")  # others, such as ndim and index, tensors have as well
_SETTINGS = lazy(r"(?i)config|setting|default|option|opts?\b|params|hparam")
_HELD = lazy(rb"(?:self\.)?([A-Za-z]\w*_\w+)$")  # the name of another option; a shorter one may be anything
_ORDERS: dict[type, Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


class OffOptions:
    """Finds such branches. What a project sets an option to is searched once, and kept."""

    def __init__(self, texts: Texts) -> None:
        self._texts = texts
        self._known: dict[str, frozenset[bytes] | None] = {}
        self._in_settings: set[str] = set()  # the options that a file of settings sets

    def branches(self, tree: ast.Module, path: str, lines: frozenset[int]) -> dict[Span, str]:
        """The branches around these lines of a file that are never taken, each with its option."""
        found: dict[Span, str] = {}
        for node in _conditions(tree):
            if not lines.isdisjoint(range(node.lineno, (node.end_lineno or 0) + 1)):
                for block, wanted in ((node.body, True), (node.orelse, False)):
                    if block and (option := self._never(node.test, wanted, path)):
                        found[block[0].lineno, block[-1].end_lineno or block[-1].lineno] = option
        return found

    def at(self, tree: ast.Module, path: str, line: int) -> str:
        """The option that keeps a line of a file from running; "" for none."""
        spans = self.branches(tree, path, frozenset({line}))
        return next((option for (first, last), option in spans.items() if first <= line <= last), "")

    def _never(self, test: ast.expr, wanted: bool, path: str) -> str:
        """The option because of which a condition never has the value `wanted`; "" if it may have it."""
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            return self._never(test.operand, not wanted, path)
        if isinstance(test, ast.BoolOp):
            several = [self._never(value, wanted, path) for value in test.values]
            one_decides = isinstance(test.op, ast.And) == wanted
            return next(filter(None, several), "") if one_decides or all(several) else ""
        if isinstance(test, ast.Compare) and len(test.ops) == 1 and type(test.ops[0]) in _ORDERS:
            name, text = _option(test.left), constant(test.comparators[0])
            if _MAY_BE_OPTION.search(name) and type(text) in (int, float):
                return self._never_in_order(test, name, wanted, path)
            if not name or not isinstance(text, str) or isinstance(test.ops[0], ast.Eq) != wanted:
                return ""
            values = self._values(name, path)
            return f"{name} == {text!r}" if values and text.encode() not in values and not _offs(values) else ""
        name = _option(test) if wanted else ""
        values = self._values(name, path) if name else None
        return name if values and values == _offs(values) else ""

    def _never_in_order(self, test: ast.Compare, name: str, wanted: bool, path: str) -> str:
        """The same for a comparison with a number. A number that no settings have may be handed over by its place alone."""
        values = self._values(name, path)
        if not values or name not in self._in_settings or not all(map(_NUMBER.match, values)):
            return ""
        holds, limit = _ORDERS[type(test.ops[0])], constant(test.comparators[0])
        said = ast.unparse(ast.Compare(ast.Name(name), test.ops, test.comparators))
        return "" if any(holds(float(value), limit) == wanted for value in values) else said

    def _values(self, name: str, path: str) -> frozenset[bytes] | None:
        """The constants that an option is set to, as texts; None if it may have other values. A file near `path`, which asks,
        mostly computes one: then no other file is searched."""
        if name not in self._known:
            self._known[name] = None  # of two that hold each other, nothing is known
            self._known[name] = self._search(name, path)
        return self._known[name]

    def _search(self, name: str, path: str) -> frozenset[bytes] | None:
        texts = self._texts(name.encode(), path)
        values: set[bytes] = set()
        sets, offered, word = _sets(name), _offered(name), name.lower().encode()
        for path, text in texts if texts is not None else ():
            if b"--" in text and offered.search(text):
                return None
            for match in _in_lines_with(word, sets, text):
                if is_comment(text, match.start()):
                    continue
                value = _value(match, kind_of(path) == PYTHON)
                several = {value} if value is not None else self._held(name, match, path)
                if not several:
                    return None
                values |= several
                if value != _HANDED_ON and (kind_of(path) != PYTHON or _SETTINGS.search(path)):
                    self._in_settings.add(name)
        return frozenset(values - {_HANDED_ON}) or None

    def _held(self, name: str, match: re.Match[bytes], path: str) -> frozenset[bytes] | None:
        """The values of another option, where an object holds them by its own name: `self.most = most_vectors`."""
        held = _HELD.match((match["value"] or b"").strip()) if match["how"] == b"=" else None
        values = self._values(other, path) if (other := held[1].decode() if held else "") else None
        if other in self._in_settings:
            self._in_settings.add(name)
        return values


_HANDED_ON = b"\0"  # stands for a place that only passes the option on, and sets nothing


@once
def _conditions(tree: ast.Module) -> list[ast.If]:
    return [node for node in statements(tree) if isinstance(node, ast.If)]


def _offs(values: frozenset[bytes]) -> frozenset[bytes]:
    return frozenset(value for value in values if _OFF.match(value))


def _option(node: ast.expr) -> str:
    """The name of an option: `fused` for `cfg.fused`, `cfg["fused"]` and `cfg.get("fused")`; "" for other expressions."""
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Subscript):
        key = constant(node.slice)
        return key if isinstance(key, str) and key.isidentifier() else ""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get":
        key = constant(node.args[0]) if len(node.args) == 1 else None
        return key if isinstance(key, str) and key.isidentifier() else ""
    return ""


def _sets(name: str) -> re.Pattern[bytes]:
    """Matches places where an option may be set: `a.name = x`, `"name": x`, `name: x`, `getattr(a, "name", x)`,
    `a, b.name = x`, `for a.name in x`."""
    word = re.escape(name.encode())
    return re.compile(
        rb"(?im)(?<![\w-])%s[\"']?\]?[ \t]*(?P<how>:[ \t]*\w+(?:\[\w+\])?[ \t]*=(?!=)|:(?!=)|[-+*/|&^@]?=(?!=)|(?<=[\"'])[ \t]*,(?=[^\n]*\)))"
        rb"[ \t]*(?P<value>[^\n,;#)}]*)|^[ \t]*[\w.]*\b%s[ \t]*,[^\n=()]*=(?!=)|^[ \t]*for[ \t][^\n]*?\b%s\b[^\n]*?[ \t]in[ \t]"
        % (word, word, word)
    )


def _in_lines_with(word: bytes, pattern: re.Pattern[bytes], text: bytes) -> Iterator[re.Match[bytes]]:
    """The matches on the lines with a word, which is in small letters: without regard to them, a pattern looks at each letter."""
    lowered, end = text.lower(), 0
    while (found := lowered.find(word, end)) >= 0:
        start, end = text.rfind(b"\n", 0, found) + 1, text.find(b"\n", found)
        end = end if end >= 0 else len(text)
        yield from pattern.finditer(text, start, end)


def _offered(name: str) -> re.Pattern[bytes]:
    """Matches an option of a command line. The user may give it values that no file has."""
    return re.compile(rb"(?i)--[\w.-]*%s\b" % re.escape(name.encode()).replace(b"_", b"[-_]"))


def _value(match: re.Match[bytes], is_python: bool) -> bytes | None:
    """The constant that an option is set to; None if the value is computed."""
    how, value = match["how"], (match["value"] or b"").strip()
    if not how or how[0] in b"-+*/|&^@" or not value:
        return _HANDED_ON if how == b":" and is_python else None  # `if cfg.fused:`, and a mapping of YAML
    if _OFF.match(value):
        return value
    if quoted := _STRING.match(value):
        return quoted[2]
    if _NUMBER.match(value):
        return value
    name = match[0].lstrip(b".\"' \t")
    word = re.match(rb"\w+", name)
    if word and re.search(rb"(?i)\b%s[\"']?[\])]*$" % re.escape(word[0]), value):
        return _HANDED_ON  # `self.fused = cfg.fused`
    if how == b":" and is_python:
        return _HANDED_ON if value == b"bool" or value == b"str" else None
    return value if not is_python and _PLAIN.match(value) else None
