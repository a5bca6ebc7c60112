"""`nvidia-smi` in shell: shown, asked for, read.

What a script does where it finds the tool and what it reads from it there are one decision: `npu-smi` in the test and
`nvidia-smi -L` behind it would count no cards at all, where the script as it was knew that it had found none.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import accumulate

from porter.engine.rule import Hit, TextRule, named
from porter.files.kinds import SHELL
from porter.text.document import Document
from porter.text.shells.programs import heads
from porter.text.shells.script import Command, Script

_ASKED = frozenset({"which", "type", "hash", "command"})
_SMI = "nvidia-smi"
_COUNTS = re.compile(r"-L\b|--list-gpus|--query-gpu=(?:count|name|gpu_name|index)")
# a line for each GPU, and how many lines there are
_COUNTED = re.compile(
    r"nvidia-smi[ \t]+(?:-L|--list-gpus|--query-gpu=(?:name|gpu_name|index|uuid|gpu_uuid)[ \t]+--format=csv,noheader)"
    r"(?P<quiet>[ \t]+2>[ \t]*/dev/null)?[ \t]*\|[ \t]*wc[ \t]+(?:-l|--lines)(?![\w-])"
)
# `npu-smi info -l` has a part for each card, which says how many chips it has; each chip is a device of its own to torch
_CHIPS = """npu-smi info -l{quiet} | awk '/Chip Count/ {{n += $NF}} END {{print n + 0}}'"""
_PLAIN = frozenset(
    "program do_group compound_statement else_clause elif_clause if_statement case_item redirected_statement subshell "
    "function_definition for_statement while_statement c_style_for_statement case_statement text".split()
)


class SmiCommands(TextRule):
    code = "PRT145"
    reads = "script"

    def look(self, document: Document, script: Script) -> Iterator[Hit]:
        safe = script.may_edit(document)
        found = []
        for command in script.commands:
            if asked := [at for at in heads(command) if command.words[at].name == _SMI]:
                counting = max((at for at, word in enumerate(command.words) if _COUNTS.search(word.text)), default=0)
                found += [(command, at, _hit(command, at, counting > at, script, document, safe)) for at in asked]
        by_hand = sorted(hit.at[0] for _, _, hit in found if not hit.edits)
        deciding = [c for c, at, _ in found if _reach(c, at, script)]
        reached = [*accumulate((_reach(c, at, script) for c, at, _ in found if _reach(c, at, script)), max)]
        for command, at, hit in found:
            if hit.edits:
                behind = bisect_left(by_hand, command.end)
                if behind == len(by_hand) or by_hand[behind] >= _reach(command, at, script):
                    yield hit
                continue  # else it is told where it has to be done by hand
            first = bisect_right(reached, hit.at[0])
            if first < len(deciding) and deciding[first].end <= hit.at[0]:
                line = str(document.place(deciding[first].start)[0])
                yield Hit(hit.at, f"{hit.why}_asked", values=named(line=line))
            else:
                yield hit


def _hit(command: Command, at: int, counts: bool, script: Script, document: Document, safe: bool) -> Hit:
    """`counts`: one of its options asks how many GPUs there are, or which."""
    words, word = command.words, command.words[at]
    if _asks(command, at):
        return _edited(command, at, "asked", "npu-smi")
    if at + 1 < len(words) or "pipeline" in command.around or "command_substitution" in command.around:
        return _read(command, at, counts, script, document)
    if word.text != _SMI:
        return Hit((word.start, word.end), "parsed")
    plain = not command.condition and all(kind in _PLAIN for kind in command.around)
    return _edited(command, at, "plain" if plain else "deciding", "npu-smi info", safe and plain)


def _asks(command: Command, at: int) -> bool:
    words = command.words
    return bool(at) and (words[at - 1].name in _ASKED or at > 1 and words[0].name in _ASKED)


def _reach(command: Command, at: int, script: Script) -> int:
    """Where that ends which a test for the tool decides; nothing is decided by what is only shown."""
    if _asks(command, at) and "command_substitution" in command.around:  # what becomes of it, nobody follows
        return len(script.text)
    return command.reach


def _read(command: Command, at: int, counts: bool, script: Script, document: Document) -> Hit:
    """Its output is taken apart, or its options ask for something of their own."""
    words, start = command.words, command.words[at].start
    counted = _COUNTED.match(script.text, start)
    if counted and document.kind == SHELL and "text" not in command.around:  # elsewhere, `$NF` is not awk's
        new = _CHIPS.format(quiet=counted["quiet"] or "")
        return Hit(counted.span(), "chips", values=(("new", new),), edits=((*counted.span(), new),))
    topology = at + 1 < len(words) and words[at + 1].text.startswith("topo")
    return Hit((start, words[-1].end), "counted" if counts else "topology" if topology else "parsed")


def _edited(command: Command, at: int, why: str, new: str, safe: bool = False) -> Hit:
    span = command.words[at].start, command.words[at].end
    return Hit(span, why, values=(("new", "npu-smi info"),), edits=((*span, new),), safe=safe)
