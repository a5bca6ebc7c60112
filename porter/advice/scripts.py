"""What launch scripts and settings files say of the same things: read by the line, no parser is loaded."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from porter.advice.load import Names, names
from porter.advice.observe import Observation, plain
from porter.files.kinds import DOCKERFILE, JSON, MAKEFILE, SHELL, kind_of
from porter.regex import lazy

_SHELL = (SHELL, MAKEFILE, DOCKERFILE)
_OPTION = lazy(r"(?<![\w-])--([A-Za-z][\w-]*)(?:(?:=|[ \t]+)(?!--?[A-Za-z])(\"[^\"\n]*\"|'[^'\n]*'|[^\s\\\"'&|;)]+))?")
_SET = lazy(r"(?m)(?:^|[\s;])(?:export[ \t]+|ENV[ \t]+)?([A-Za-z_]\w*)\??=(\"[^\"\n]*\"|'[^'\n]*'|[^\s;|&)]*)")
_PAIR = lazy(r"(?m)^[ \t]*(?:-[ \t]+)?[\"']?([A-Za-z][\w.-]*)[\"']?[ \t]*[:=][ \t]*([^#\n]+)")
_ITEM = lazy(r"\"([A-Za-z][\w.-]*)\"[ \t]*:[ \t]*(\"[^\"\n]*\"|[^\s,{}\[\]]+)")
_BINDS = lazy(r"(?<![\w./-])(taskset|numactl)[ \t]+-[^\n]*?\b(?:python|torchrun|deepspeed|accelerate)")
_VARIABLE = lazy(r"\$\{?([A-Za-z_]\w*)(?::?-([^}]*))?\}?")


def observed(path: str, data: bytes) -> tuple[Observation, ...]:
    known = names()
    text = data.decode("utf-8", "replace")
    kind = kind_of(path)
    pairs = _shell_pairs(text) if kind in _SHELL else _pairs(text, _ITEM if kind == JSON else _PAIR)
    return tuple(sorted(set(_observations(pairs, text, data, known))))


def _observations(pairs: Iterable[tuple[str, str, int]], text: str, data: bytes, known: Names) -> Iterator[Observation]:
    lines = _Lines(text)
    for key, value, offset in pairs:
        for kind in known.keys.get(plain(key), ()):
            if kind not in known.needs or known.needs[kind] in data:
                yield f"value:{kind}", value, lines.of(offset)


def _pairs(text: str, pattern: re.Pattern[str]) -> Iterator[tuple[str, str, int]]:
    for match in pattern.finditer(text):
        value = match[2].strip().rstrip(",").strip("\"' ")
        if value and value[0] not in "{[&*|>":
            yield match[1].rpartition(".")[2], value, match.start(1)


def _shell_pairs(text: str) -> Iterator[tuple[str, str, int]]:
    text = re.sub(r"(?m)^([ \t]*)#[^\n]*", lambda m: m[1] + " " * (len(m[0]) - len(m[1])), text)
    values = {match[1]: match[2].strip("\"'") for match in reversed(list(_SET.finditer(text)))}
    for match in _SET.finditer(text):
        yield match[1], _resolved(match[2].strip("\"'"), values), match.start(1)
    for match in _BINDS.finditer(text):
        yield match[1], "true", match.start(1)
    for match in _OPTION.finditer(text):
        yield match[1], _resolved((match[2] or "true").strip("\"'"), values), match.start(1)


def _resolved(value: str, values: dict[str, str]) -> str:
    for _ in range(3):
        match = _VARIABLE.fullmatch(value)
        if match is None:
            break
        value = values.get(match[1]) or match[2] or ""
    return value


class _Lines:
    """Line numbers of growing or falling positions, without counting from the start each time."""

    def __init__(self, text: str):
        self._text, self._offset, self._line = text, 0, 1

    def of(self, offset: int) -> int:
        if offset < self._offset:
            self._offset, self._line = 0, 1
        self._line += self._text.count("\n", self._offset, offset)
        self._offset = offset
        return self._line
