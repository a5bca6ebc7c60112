"""Scripts that ask a program to quantise a model with CUDA kernels of the model's own code: `--quantization_bit 4`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from porter.engine.rule import Hit, TextRule, named
from porter.regex import lazy
from porter.text.document import Document
from porter.text.shells.script import Script

_VALUE = r"(?:=|(?:[ \t]|\\\n)+)[\"']?[48](?![\w.])"
# a string, which may hold anything, or what ends a command; `2>&1` ends none
_QUOTED_OR_END = lazy(r"""'[^']*'|"[^"]*"|\\.|((?<!>)&+|[;|]+)""")


class QuantizingPrograms(TextRule):
    code = "PRT416"
    reads = "script"

    def look(self, document: Document, script: Script) -> Iterator[Hit]:
        told: set[int] = set()
        for path, option in document.session.facts.launch.quantizing:
            if not option:
                continue
            name, word = path.rpartition("/")[2], re.escape(option).replace("_", "[-_]")
            for match in re.finditer(rf"(?<![\w-])--({word}){_VALUE}", script.text):
                at = match.start(1) - 2
                if at in told or any(start <= at < end for start, end in script.comments):
                    continue
                if re.search(rf"(?<![\w.-]){re.escape(name)}\b", _command(script.text, at)):
                    told.add(at)
                    yield Hit((at, match.end(1)), "passed", values=named(option=match[1], name=name))


def _command(text: str, at: int) -> str:
    """The command in which a place stands, up to it: what other commands of its lines are given is no matter of this one."""
    start = text.rfind("\n", 0, at) + 1
    while start > 1 and text[: start - 1].endswith("\\"):
        start = text.rfind("\n", 0, start - 1) + 1
    ends = [match.end() for match in _QUOTED_OR_END.finditer(text, start, at) if match[1]]
    return text[ends[-1] if ends else start : at]
