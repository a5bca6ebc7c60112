"""What a log prints of its own arguments: Megatron's block of dotted lines, `Namespace(...)`, `TrainingArguments(...)`,
`Model config LlamaConfig {...}`. In the order of the log: who reads them takes the last of a name."""

from __future__ import annotations

import re
from collections.abc import Iterator

from porter.checklist.schema import key_of
from porter.checklist.setting import Lines, Setting
from porter.regex import lazy

# each begins with what is rare in a log; the name in front is looked at afterwards
_DOTTED = lazy(r" \.{2,100} ([^\n]{0,2000})")
_CALL = lazy(r"(?:Namespace|Arguments|Config|Args)\(\s*(?=[A-Za-z_]\w*\s*=)")
_CONFIG = lazy(r"Config \{[ \t]*\n")
_NAME = lazy(r"(?<![\w.])[A-Za-z_]\w*$")
_INDENT = lazy(r"[ \t]*")
_LONG = 100  # characters of a name
_CLOSED_BY = {"(": ")", "[": "]", "{": "}"}
_LONGEST = 200_000  # characters of one list of arguments
_MOST = 200  # blocks of JSON of one log
_FEW = 4  # dotted lines that are no block of arguments


def settings_of(text: str) -> list[Setting]:
    lines = Lines(text)
    dotted = []
    for match in _DOTTED.finditer(text):
        if word := _NAME.search(text[max(0, match.start() - _LONG) : match.start()]):
            dotted.append(Setting((key_of(word[0]),), match[1].strip(), word[0], lines.of(match.start())))
    named = []
    done = 0
    for match in _CALL.finditer(text):
        if match.start() < done:
            continue
        done = match.end() + _LONGEST
        for start, end in _arguments(text, match.end()):
            done = end
            name, _, value = text[start:end].partition("=")
            line = lines.of(start + len(name) - len(name.lstrip()))
            name, value = name.strip(), value.strip()
            if name.isidentifier() and value:
                quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
                named.append(Setting((key_of(name),), value[1:-1] if quoted else value, name, line))
    return sorted((dotted if len(dotted) > _FEW else []) + named, key=lambda setting: setting.line)


def objects(text: str) -> Iterator[tuple[str, int]]:
    """JSON that a log prints as a configuration, and how many lines stand before it."""
    for number, match in enumerate(_CONFIG.finditer(text)):
        if number >= _MOST:
            return
        start = text.rindex("{", match.start(), match.end())
        if text.endswith("Generation", 0, match.start()):
            continue
        margin = _INDENT.match(text, text.rfind("\n", 0, start) + 1)[0]  # type: ignore[index]  # it matches nothing, too
        end = text.find(f"\n{margin}}}", start, start + _LONGEST)
        if end > 0:
            yield text[start : end + len(margin) + 2], text.count("\n", 0, start)


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
