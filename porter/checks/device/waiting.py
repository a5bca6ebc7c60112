"""Names of torch.cuda that wait for a person with something else, as half a port would be left without it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from itertools import pairwise, takewhile

from porter.checks.device.author_names import Mention
from porter.checks.device.device_properties import CAPABILITY, MAKERS
from porter.engine.rule_file import Link, RuleFile
from porter.python.index import ancestors
from porter.rulebook.table import Move

Moves = Mapping[str, Move]


def inside(original: Mention, moves: Moves, file: RuleFile) -> bool:
    """Whether a name is an argument of a call of torch.cuda that stays: half a port of one expression is for review."""
    link = file.link(original)
    around = takewhile(lambda up: not isinstance(up[0], (ast.stmt, ast.Lambda)), ancestors(link))
    pairs = pairwise([link, *around]) if link is not None else ()
    return any(
        up[0].__class__ is ast.Call and up[0].func is not child[0] and _stays(up, moves, file) for child, up in pairs
    )


def _stays(call: Link, moves: Moves, file: RuleFile) -> bool:
    """A call that nothing on an NPU answers, or that is asked for what nothing there has."""
    name = file.names.resolve(call[0].func, call) or ""
    if name in MAKERS:
        return name.startswith("torch.cuda.") and getattr(call[1][0], "attr", "") in CAPABILITY
    return name in moves and moves[name].tail is None and not moves[name].stays


def imported(name: str, moves: Moves, file: RuleFile) -> bool:
    """Whether a file has torch.cuda under this name, by an import or by `cuda = torch.cuda`, and reads of it what is written after
    review alone: `cuda.CUDAGraph()`. Below the module of torch_npu that is missing until then: the import waits, and with it all that is
    read of it."""
    uses, known = file.names.spelled(name), {full for full, _ in file.names.imports.get(name, ())}
    if known != {"torch.cuda"} and (known or not any(file.names.resolve(use[0], use) == "torch.cuda" for use in uses)):
        return False
    return file.names.once("waits for review", uses, lambda: any(_is_for_review(use, moves, file) for use in uses))


def given(original: Mention, moves: Moves, file: RuleFile) -> bool:
    """The same of `torch.cuda` in `cuda = torch.cuda`."""
    link = file.link(original)
    while link is not None and link[1] is not None and link[1][0].__class__ is ast.Attribute:
        link = link[1]
    if link is None or link[1] is None or link[1][0].__class__ is not ast.Assign:
        return False
    targets = link[1][0].targets if link[1][0].value is link[0] else ()
    return any(target.__class__ is ast.Name and imported(target.id, moves, file) for target in targets)


def _is_for_review(use: Link, moves: Moves, file: RuleFile) -> bool:
    """Whether something is read here that has another name on an NPU, and is written after review."""
    read = moves_of(use, moves, file)
    return any(move.fix == "review" and (move.tail or "").rpartition(".")[2] != link[0].attr for move, link in read)


def moves_of(use: Link, moves: Moves, file: RuleFile) -> Iterator[tuple[Move, Link]]:
    """What becomes of `cuda.nvtx` and of `cuda.nvtx.range`, from the name of the module on."""
    link = use
    while link[1] is not None and link[1][0].__class__ is ast.Attribute:
        link = link[1]
        if (move := moves.get(file.names.resolve(link[0], link) or "")) is not None:
            yield move, link
