"""`nvidia-smi` in shell: shown, asked for, read.

What a script does where it finds the tool and what it reads from it there are one decision: `npu-smi` in the test and
`nvidia-smi -L` behind it would count no cards at all, where the script as it was knew that it had found none.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate

from porter.checks.scripts.gpu_tools import only_prints
from porter.engine.rule import Hit, TextRule, named
from porter.files.kinds import SHELL
from porter.regex import lazy
from porter.text.document import Document
from porter.text.shells.programs import heads
from porter.text.shells.script import Command, Script

_ASKED = frozenset({"which", "type", "hash", "command"})
_SMI = "nvidia-smi"
_COUNTS = lazy(r"-L\b|--list-gpus|--query-gpu=(?:count|name|gpu_name|index)")
_OF_NPUS = lazy(
    r"(?i)ascend(?!ing)|(?<![a-z])npus?(?![a-z])|hccl"
)  # the script chooses between both kinds of device already
_IF, _FI = lazy(r"[ \t]*(?:el)?if\b"), lazy(r"\n[ \t]*fi\b")
# a line for each GPU, and how many lines there are
_COUNTED = lazy(
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
        npus, ends = (tuple(match.start() for match in what.finditer(script.text)) for what in (_OF_NPUS, _FI))
        calls = []
        for command in script.commands:
            if indices := [index for index in heads(command) if command.words[index].name == _SMI]:
                counting = max(
                    (index for index, word in enumerate(command.words) if _COUNTS.search(word.text)), default=0
                )
                if chosen := [i for i in indices if _chooses(command, i, script, npus, ends)]:
                    word = command.words[chosen[0]]
                    yield Hit((word.start, word.end), "chosen")
                    continue
                calls += [
                    (command, index, _hit(command, index, counting > index, script, document, safe))
                    for index in indices
                ]
        by_hand = sorted(hit.at[0] for _, _, hit in calls if not hit.edits)
        deciding = [c for c, index, _ in calls if _reach(c, index, script)]
        reached = [*accumulate((_reach(c, index, script) for c, index, _ in calls if _reach(c, index, script)), max)]
        for command, index, hit in calls:
            if hit.edits:
                behind = bisect_left(by_hand, command.end)
                if behind == len(by_hand) or by_hand[behind] >= _reach(command, index, script):
                    yield hit
                continue  # else it is told where it has to be done by hand
            first = bisect_right(reached, hit.at[0])
            if first < len(deciding) and deciding[first].end <= hit.at[0]:
                line = str(document.place(deciding[first].start)[0])
                yield Hit(hit.at, f"{hit.why}_asked", values=named(line=line))
            else:
                yield hit


def _hit(command: Command, index: int, counts: bool, script: Script, document: Document, safe: bool) -> Hit:
    """`counts`: one of its options asks how many GPUs there are, or which."""
    words, word = command.words, command.words[index]
    if _asks(command, index):
        return _edited(command, index, "asked", "npu-smi")
    if index + 1 < len(words) or "pipeline" in command.around or "command_substitution" in command.around:
        return _read(command, index, counts, script, document)
    if word.text != _SMI:
        return Hit((word.start, word.end), "parsed")
    plain = not command.condition and all(kind in _PLAIN for kind in command.around)
    if document.session.target.style == "portable" and only_prints(document, command):
        return Hit((word.start, word.end), "printed")
    return _edited(command, index, "plain" if plain else "deciding", "npu-smi info", safe and plain)


def _asks(command: Command, index: int) -> bool:
    words = command.words
    return bool(index) and (words[index - 1].name in _ASKED or index > 1 and words[0].name in _ASKED)


def _chooses(command: Command, index: int, script: Script, npus: Sequence[int], ends: Sequence[int]) -> bool:
    """Whether the script looks for the tool to choose between GPUs and NPUs. `npus`: where it says so; `ends`: of its `if`s."""
    if not _asks(command, index):
        return False
    reach = command.reach
    if not reach and _IF.match(script.text, script.text.rfind("\n", 0, command.start) + 1):
        end = bisect_left(ends, command.end)  # of `if [ -x "$(command -v nvidia-smi)" ]; then`
        reach = ends[end] if end < len(ends) else 0
    first = bisect_left(npus, command.start)
    return first < len(npus) and npus[first] < reach


def _reach(command: Command, index: int, script: Script) -> int:
    """Where that ends which a test for the tool decides; nothing is decided by what is only shown."""
    if _asks(command, index) and "command_substitution" in command.around:  # what becomes of it, nobody follows
        return len(script.text)
    return command.reach


def _read(command: Command, index: int, counts: bool, script: Script, document: Document) -> Hit:
    """Its output is taken apart, or its options ask for something of their own."""
    words, start = command.words, command.words[index].start
    counted = _COUNTED.match(script.text, start)
    if counted and document.kind == SHELL and "text" not in command.around:  # elsewhere, `$NF` is not awk's
        new = _CHIPS.format(quiet=counted["quiet"] or "")
        return Hit(counted.span(), "chips", values=(("new", new),), edits=((*counted.span(), new),))
    topology = index + 1 < len(words) and words[index + 1].text.startswith("topo")
    return Hit((start, words[-1].end), "counted" if counts else "topology" if topology else "parsed")


def _edited(command: Command, index: int, why: str, new: str, safe: bool = False) -> Hit:
    span = command.words[index].start, command.words[index].end
    return Hit(span, why, values=(("new", "npu-smi info"),), edits=((*span, new),), safe=safe)
