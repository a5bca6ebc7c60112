"""Makefiles: the shell of their recipes, and the variables around it."""

from __future__ import annotations

import re
from dataclasses import replace

from porter.regex import lazy
from porter.text.document import Document
from porter.text.formats import shell
from porter.text.shells.parse import WORDS, masked, parse
from porter.text.shells.script import Name, Script, Text, Word

MARK, READS = "#", "script"
same, settled = shell.same, shell.settled
# `gpu-image: BASE ?= nvidia/cuda:12.1.0` sets it for one target
_SET = lazy(
    r"^(?:[\w.%/-]{1,80}:[ \t]+)?(?:(?:export|override)[ \t]+)*([A-Za-z_]\w*)[ \t]*(?:\?|:{1,3}|\+|!)?=[ \t]*([^#\n]*)",
    re.MULTILINE,
)
_NAMED = lazy(r"^(?:un)?export[ \t]+([A-Za-z_]\w*)[ \t]*$", re.MULTILINE)
_READ = lazy(r"(?<!\$)\$[({]([A-Za-z_]\w*)[)}]")
_PREFIX = lazy(r"\t[ \t]*[@+-]*[ \t]*")


def read(document: Document) -> Script:
    text = masked(document.text)
    script = _unmasked(parse(_recipes(text)), text)
    names = [Name(m.start(1), m.end(1), m[1], "read") for m in _READ.finditer(text)]
    names += [Name(m.start(1), m.end(1), m[1], "named") for m in _NAMED.finditer(text)]
    for match in _SET.finditer(text):
        value = Word(match.start(2), match.start(2) + len(match[2].rstrip()), match[2].rstrip())
        names.append(Name(match.start(1), match.end(1), match[1], "set", value, exported="export" in match[0]))
        if WORDS.search(value.text):
            script.texts.append(Text(value, ""))
    script.names = sorted([*script.names, *names], key=lambda n: n.start)
    return script


def _unmasked(script: Script, text: str) -> Script:
    """What make puts in is a value that nobody knows, and no word: `CUDA_VISIBLE_DEVICES=$(GPU)`."""

    def as_written(word: Word) -> Word:
        return replace(word, text=text[word.start : word.end])

    script.names = [replace(n, value=n.value and as_written(n.value)) for n in script.names]
    script.texts = [replace(t, word=as_written(t.word)) for t in script.texts]
    script.commands = [replace(c, words=(c.words[0], *map(as_written, c.words[1:]))) for c in script.commands]
    return script


def _recipes(text: str) -> str:
    out, goes_on = [], False
    for line in text.splitlines(keepends=True):
        if line.startswith("\t") or goes_on:
            head = _PREFIX.match(line) if not goes_on else None
            start = head.end() if head else 0
            out.append(" " * start + _as_shell(line[start:]))
            goes_on = line.rstrip("\r\n").endswith("\\")
        elif "$(shell " in line and "#" not in line[: line.index("$(shell ")]:
            start = line.index("$(shell ")
            end = _closed(line, start + 1)
            blank = re.sub(r"[^\n]", " ", line)
            out.append(blank[:start] + _as_shell(line[start:end]) + blank[end:])
        else:
            out.append(re.sub(r"[^\n]", " ", line))
    return "".join(out)


def _as_shell(line: str) -> str:
    """What make puts in before a shell sees the line, as words of the same length."""
    out, offset = [], 0
    while (dollar := line.find("$", offset)) >= 0:
        out.append(line[offset:dollar])
        following = line[dollar + 1 : dollar + 2]
        if following == "$":
            out.append(" $")
            offset = dollar + 2
        elif line.startswith("$(shell ", dollar):
            out.append("$(      ")
            offset = dollar + len("$(shell ")
        elif following in ("(", "{"):
            end = _closed(line, dollar + 1)
            out.append("x" * (end - dollar))
            offset = end
        else:
            out.append("xx"[: len(line[dollar : dollar + 2])] if following.strip() else "x" + following)
            offset = dollar + 2
    return "".join(out) + line[offset:]


def _closed(line: str, start: int) -> int:
    opening = line[start]
    closing, depth = {"(": ")", "{": "}"}[opening], 0
    for n in range(start, len(line)):
        depth += (line[n] == opening) - (line[n] == closing)
        if not depth:
            return n + 1
    return len(line.rstrip("\\\r\n"))
