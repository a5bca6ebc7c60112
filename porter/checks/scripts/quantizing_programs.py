"""Scripts that ask a program to quantise a model with CUDA kernels of the model's own code: `--quantization_bit 4`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from porter.engine.rule import Hit, TextRule, named
from porter.text.document import Document
from porter.text.shells.lines import command_at
from porter.text.shells.script import Script

_VALUE = r"(?:=|(?:[ \t]|\\\n)+)[\"']?[48](?![\w.])"


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
                if re.search(rf"(?<![\w.-]){re.escape(name)}\b", script.text[command_at(script.text, at)[0] : at]):
                    told.add(at)
                    yield Hit((at, match.end(1)), "passed", values=named(option=match[1], name=name))
