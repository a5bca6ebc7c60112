"""What a log prints of its own arguments: Megatron's block of dotted lines, `Namespace(...)`, `TrainingArguments(...)`,
`Model config LlamaConfig {...}`. A later one of the same name counts."""

from __future__ import annotations

import re
from collections.abc import Iterator

from porter.checklist.schema import key_of
from porter.checklist.setting import Setting
from porter.regex import lazy

# one character of dots is found by two at its side, so that a line of a million of them is gone over once
_DOTTED = lazy(r"(?m)^[^\n]{0,200}?(?<![\w.])([A-Za-z_]\w{0,99}) \.{2,100} ([^\n]{0,2000})$")
_CALL = lazy(r"\b(?:Namespace|\w*Arguments|\w*Config|\w*Args)\(\s*(?=[A-Za-z_]\w*\s*=)")
_CONFIG = lazy(r"\b\w*Config(?:uration)? \{\s*\n")
_ENVIRON = lazy(r"(?m)^(?:export )?([A-Z][A-Z0-9_]{2,})=(\S*)$")
_CLOSED_BY = {"(": ")", "[": "]", "{": "}"}
_LONGEST = 200_000  # characters of one list of arguments
_MOST = 200  # lists of one log


def settings_of(text: str) -> list[Setting]:
    dotted = [
        Setting((key_of(match[1]),), match[2].strip(), match[1], _line(text, match.start(1)))
        for match in _DOTTED.finditer(text)
    ]
    named = []
    for number, match in enumerate(_CALL.finditer(text)):
        if number >= _MOST:
            break
        for start, end in _arguments(text, match.end()):
            name, _, value = text[start:end].partition("=")
            if _is_name(name.strip()) and value:
                name, value = name.strip(), value.strip()
                quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
                named.append(Setting((key_of(name),), value[1:-1] if quoted else value, name, _line(text, start)))
    return (dotted if len(dotted) > 4 else []) + named


def objects(text: str) -> Iterator[tuple[str, int]]:
    """JSON that a log prints as a configuration, and the line before it."""
    for number, match in enumerate(_CONFIG.finditer(text)):
        if number >= _MOST:
            return
        start = text.index("{", match.start())
        end = text.find("\n}", start, start + _LONGEST)
        if end > 0:
            yield text[start : end + 2], text.count("\n", 0, start)


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


def _is_name(text: str) -> bool:
    return text.isidentifier()


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at + len(text[at:]) - len(text[at:].lstrip())) + 1 if at < len(text) else 0
