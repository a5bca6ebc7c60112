"""What a log prints of its own arguments: Megatron's block of dotted lines, `Namespace(...)`, `TrainingArguments(...)`,
`Model config LlamaConfig {...}`. A later one of the same name counts."""

from __future__ import annotations

import re
from collections.abc import Iterator

from porter.checklist.schema import key_of
from porter.checklist.setting import Lines, Setting
from porter.regex import lazy

_DOTTED = lazy(r"(?<![\w.])([A-Za-z_]\w{0,99}) \.{2,100} ([^\n]{0,2000})")
_CALL = lazy(r"\b(?:Namespace|\w*Arguments|\w*Config|\w*Args)\(\s*(?=[A-Za-z_]\w*\s*=)")
_CONFIG = lazy(r"(?m)^([ \t]*)(?:[^\n]{0,300}\W)?(?!Generation)[A-Z]\w*Config \{[ \t]*\n")
_CLOSED_BY = {"(": ")", "[": "]", "{": "}"}
_LONGEST = 200_000  # characters of one list of arguments
_MOST = 200  # lists of one log


def settings_of(text: str) -> list[Setting]:
    lines = Lines(text)
    dotted = [
        Setting((key_of(match[1]),), match[2].strip(), match[1], lines.of(match.start(1)))
        for match in _DOTTED.finditer(text)
    ]
    named = []
    for number, match in enumerate(_CALL.finditer(text)):
        if number >= _MOST:
            break
        for start, end in _arguments(text, match.end()):
            name, _, value = text[start:end].partition("=")
            line = lines.of(start + len(name) - len(name.lstrip()))
            name, value = name.strip(), value.strip()
            if name.isidentifier() and value:
                quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
                named.append(Setting((key_of(name),), value[1:-1] if quoted else value, name, line))
    return (dotted if len(dotted) > 4 else []) + named


def objects(text: str) -> Iterator[tuple[str, int]]:
    """JSON that a log prints as a configuration, and the line before it."""
    for number, match in enumerate(_CONFIG.finditer(text)):
        if number >= _MOST:
            return
        start = text.rindex("{", match.start(), match.end())
        end = text.find(f"\n{match[1]}}}", start, start + _LONGEST)
        if end > 0:
            yield text[start : end + len(match[1]) + 2], text.count("\n", 0, start)


def _arguments(text: str, begin: int) -> Iterator[tuple[int, int]]:
    """The parts between commas, up to the bracket that closes what stands before `begin`."""
    closings, start = [")"], begin
    at, last = begin, min(len(text), begin + _LONGEST)
    while at < last:
        char = text[at]
        if char in "\"'":
            end = re.compile(rf"(?s)(?:\\.|[^\\{char}])*{char}").match(text, at + 1)
            at = end.end() if end else last
            continue
        if char in _CLOSED_BY:
            closings.append(_CLOSED_BY[char])
        elif char in ")]}":
            if char != closings.pop():
                return
            if not closings:
                yield start, at
                return
        elif char == "," and len(closings) == 1:
            yield start, at
            start = at + 1
        at += 1
