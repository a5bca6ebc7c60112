"""Programs that only a machine with GPUs has, `nvidia-smi` first, and the folders of CUDA."""

from __future__ import annotations

import re
from collections.abc import Iterator

from porter.engine.rule import Hit, TextRule, named
from porter.text.document import Document
from porter.text.shells.programs import SET_ENV, TOOLS, heads
from porter.text.shells.script import Command, Script

_ASKED = frozenset({"which", "type", "hash", "command"})
_SMI = "nvidia-smi"
_COUNTS = re.compile(r"-L\b|--list-gpus|--query-gpu=(?:count|name|gpu_name|index)")
_PLAIN = frozenset(
    "program do_group compound_statement else_clause elif_clause if_statement case_item redirected_statement subshell "
    "function_definition for_statement while_statement c_style_for_statement case_statement text".split()
)
_CUDA_PATH = re.compile(r"/usr/local/cuda(?:-[\d.]+)?(?:/[\w./-]*)?|/opt/cuda\b[\w./-]*")
_LISTS = frozenset({"PATH", "LD_LIBRARY_PATH", "LIBRARY_PATH", "CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH"})


class GpuTools(TextRule):
    code = "PRT820"
    codes = ("PRT145", "PRT820")
    reads = "script"

    def look(self, document: Document, script: Script) -> Iterator[Hit]:
        safe = script.may_edit(document)
        for command in script.commands:
            asked = []
            for index in heads(command):
                word = command.words[index]
                if word.name == _SMI:
                    asked.append(index)
                elif word.name in TOOLS:
                    yield Hit((word.start, word.end), TOOLS[word.name], values=named(tool=word.name))
            counting = [index for index, word in enumerate(command.words) if _COUNTS.search(word.text)] if asked else []
            for index in asked:
                yield _smi(command, index, bool(counting) and counting[-1] > index, safe)
        yield from _paths(script)


def _smi(command: Command, index: int, counts: bool, safe: bool) -> Hit:
    """`counts`: one of its options asks how many GPUs there are, or which."""
    words = command.words
    word, values = words[index], (("new", "npu-smi info"),)
    if index and words[index - 1].name in _ASKED or index > 1 and words[0].name in _ASKED:
        return Hit(
            (word.start, word.end), "asked", code="PRT145", values=values, edits=((word.start, word.end, "npu-smi"),)
        )
    options = index + 1 < len(words)
    if options or "pipeline" in command.around or "command_substitution" in command.around:
        topology = options and words[index + 1].text.startswith("topo")
        why = "counted" if counts else "topology" if topology else "parsed"
        return Hit((word.start, words[-1].end), why, code="PRT145")
    plain = not command.condition and all(kind in _PLAIN for kind in command.around) and word.text == _SMI
    why = "plain" if plain else "deciding"
    edits = ((word.start, word.end, "npu-smi info"),) if word.text == _SMI else ()
    return Hit(
        (word.start, word.end),
        why if edits else "parsed",
        code="PRT145",
        values=values,
        edits=edits,
        safe=safe and plain,
    )


def _paths(script: Script) -> Iterator[Hit]:
    """`export PATH=/usr/local/cuda/bin:$PATH`."""
    for name in script.names:
        if name.role == "set" and name.name in _LISTS and name.value and (match := _CUDA_PATH.search(name.value.text)):
            start = name.value.start + match.start()
            values = named(path=match[0], variable=name.name, new=SET_ENV)
            yield Hit((start, start + len(match[0])), "path", values=values)
