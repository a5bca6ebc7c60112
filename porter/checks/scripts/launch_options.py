"""What scripts hand to the programs of the repository: `--backend nccl`, `--device cuda`."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from operator import attrgetter

from porter.engine.rule import Hit, TextRule, named
from porter.python.strings.holders import field
from porter.text.document import Document
from porter.text.shells.programs import heads
from porter.text.shells.script import Command, Script, Word

_OPTION = re.compile(r"(?<![\w-])(--?[A-Za-z][\w.-]{0,100})(?:=|(\s+))([\"']?)(cuda(?::\d+)?|nccl|gpu)\3(?![\w:,./-])")
_RUNS = re.compile(r"(?:python[\d.]*|torchrun|deepspeed|accelerate|horovodrun|fairscale)$")
_OURS = re.compile(r"(?i)device|backend|accelerator|placement|map.?location")
_ELSEWHERE = re.compile(r"^/|site-packages")
_DIST = re.compile(r"(?:^|\s)(?:--multi[_-]gpu)(?![\w-])")

_start = attrgetter("start")


class LaunchOptions(TextRule):
    code = "PRT825"
    reads = "script"

    def look(self, document: Document, script: Script) -> Iterator[Hit]:
        return _look(document, script, script.may_edit(document))


def _look(document: Document, script: Script, safe: bool) -> Iterator[Hit]:
    """`safe`: the script may be edited. Of each command: `known`, it starts a Python program; `ours`, one of this project."""
    for command in script.commands:
        program = next((index for index in heads(command) if _RUNS.match(command.words[index].name)), None)
        name = command.words[0].name
        computed = command.words[0].value is None
        known = program is not None or computed or name.endswith(".py") or any(_is_file(w) for w in command.words[1:3])
        ours = known and not _ELSEWHERE.search(_program(command))
        span = script.text[command.start : command.end]
        yield from _options(document, command.start, span, known, safe and ours, command)
        if program is not None and command.words[program].name == "accelerate":
            for match in _DIST.finditer(span):
                start = command.start + match.end() - len("--multi_gpu")
                edits = ((start, command.start + match.end(), "--multi_npu"),)
                yield Hit((start, command.start + match.end()), "multi", code="PRT825", edits=edits)
    for text in script.texts:
        if not text.command:  # what a variable holds: the options of a command further down
            yield from _options(document, text.word.start, text.word.text, False, safe, None)
    arrays = [n.value for n in script.names if n.role == "set" and n.value and n.value.text[:1] == "("]
    for value in arrays:
        yield from _options(document, value.start, value.text, False, safe, None)


def _program(command: Command) -> str:
    """The file that is started; "" for a module, whose options may name files, too."""
    if any(word.text == "-m" for word in command.words):
        return ""
    return next((word.value or "" for word in command.words if word.text.endswith(".py")), "")


def _is_file(word: Word) -> bool:
    return word.text.rstrip("\"'").endswith(".py")


def _options(
    document: Document, start: int, text: str, known: bool, safe: bool, command: Command | None
) -> Iterator[Hit]:
    session = document.session
    alone = _alone(command) if command is not None else None
    for match in _OPTION.finditer(re.sub(r"\\\n", "  ", text)):
        flag, value = match[1], match[4]
        kind = "backend" if value == "nccl" else "device"
        takes = session.facts.launch.takes(flag, kind)
        if not takes and not (known and _OURS.search(flag)):
            continue
        offset = start + match.start(4)
        if alone is not None and not alone(offset):
            continue
        new = (
            session.target.backend
            if value == "nccl"
            else session.target.device + value[4:]
            if value != "gpu"
            else "npu"
        )
        values = named(flag=flag, old=value, new=new)
        certain = safe and takes and value != "gpu" and session.target.style == "rename"
        why = "option" if certain else "accelerator" if value == "gpu" else "unknown"
        edits = ((offset, offset + len(value), new),)
        yield Hit(
            (start + match.start(1), offset + len(value)),
            why,
            code="PRT825",
            values=values,
            edits=edits,
            safe=certain,
            holder=field(flag),
            role="passed",
        )


def _alone(command: Command) -> Callable[[int], bool]:
    """Of a place: is it not inside a longer string, as in `--note "use --device cuda"`?"""
    known: dict[int, bool] = {}

    def alone(offset: int) -> bool:
        number = bisect_right(command.words, offset, key=_start) - 1
        if number < 0 or offset >= command.words[number].end:
            return False
        if number not in known:
            known[number] = " " not in command.words[number].text.strip()
        return known[number]

    return alone
