"""`nn.LSTM(64, 64, num_layers=2, dropout=0.5)`, and sequences that are packed for a GRU: an NPU computes something else, and says nothing."""

from __future__ import annotations

import ast

from porter.engine.nodes import positional
from porter.engine.rule import TOGETHER, Answer, Hit, Rule, cst, named
from porter.engine.rule_file import Link, RuleFile
from porter.python.evidence import call_name, constant
from porter.python.index import Node

# whose layers torch_npu stacks by itself
_STACKED = {"torch.nn.LSTM": "LSTM", "torch.nn.GRU": "GRU"}
# of a packed batch, torch_npu reads what its LSTM gets; what others get torch reads as if the padding were gone
_READ_BY_TORCH = ("torch.nn.GRU", "torch.nn.RNN")
_PACKING = "torch.nn.utils.rnn.pack_padded_sequence"
_LAYERS, _DROPOUT = (2, ("num_layers",)), (5, ("dropout",))  # where they stand
_OLD = 2  # parts of a packed batch for an old torch
_MOST = 2  # layers of a packed LSTM that torch_npu knows


class RecurrentLayers(Rule):
    code = "PRT724"
    edits = False
    calls = frozenset({*_STACKED, _PACKING})

    def visit(self, original: cst.Call, updated: cst.Call, file: RuleFile) -> Answer:
        if file.tested:
            return None
        name = file.name(original.func) or ""
        return self._packed(original, file) if name == _PACKING else self._dropped(original, _STACKED[name], file)

    @staticmethod
    def _dropped(original: cst.Call, name: str, file: RuleFile) -> Hit | None:
        layers, dropout = (_given(original, place, file) for place in (_LAYERS, _DROPOUT))
        if layers in ("", "1") or dropout in ("", "0", "0.", "0.0"):
            return None
        return Hit(original.func, "dropout", values=named(name=name, dropout=dropout))

    @staticmethod
    def _packed(original: cst.Call, file: RuleFile) -> Hit | None:
        called = file.scene.link(original)
        call = called[1] if called is not None else None
        if call is not None and call[1] is not None:
            if count := _parts(call[1][0]):
                return Hit(original.func, "parted" if count == _OLD else "data")
            uses = [call, *_readers(call, file)]
            if any(use[1] is not None and _is_taken_out(use[1][0], use[0]) for use in uses):
                return Hit(original.func, "data")
        made = next((api.rpartition(".")[2] for api in _READ_BY_TORCH if api in file.apis), None)
        if made is not None:
            return Hit(original.func, "packed", values=(*named(name=made), (TOGETHER, made)))
        is_deep = any(_layers(node) > _MOST for node, _ in file.buckets[ast.Call])
        return Hit(original.func, "deep", values=((TOGETHER, "deep"),)) if is_deep else None


def _given(call: cst.Call, place: tuple[int, tuple[str, ...]], file: RuleFile) -> str:
    """What a call gives for an argument; "" where it gives nothing, or nobody can tell."""
    argument = positional(call, *place)
    given = argument[1] if argument is not None else None
    return file.text(given.value) if given is not None else ""


def _readers(call: Link, file: RuleFile) -> list[Link]:
    """Of `packed = pack(x, lengths)`, where the name is read."""
    above = call[1]
    target: Node = above[0].targets[0] if above is not None and above[0].__class__ is ast.Assign else None
    return file.names.readers(target.id, (target, above)) if target.__class__ is ast.Name else []


def _is_taken_out(above: Node, call: Node) -> bool:
    """`pack(x, lengths).data`, `pack(x, lengths)[0]`: the rows themselves."""
    if above.__class__ is ast.Subscript:
        return above.value is call and constant(above.slice) == 0
    return above.__class__ is ast.Attribute and above.attr == "data"


def _parts(above: Node) -> int:
    """In how many names a packed batch is taken apart: `rows, sizes = pack(x, lengths)`, before torch 1.1."""
    target: Node = above.targets[0] if above.__class__ is ast.Assign else None
    return len(target.elts) if target.__class__ in (ast.Tuple, ast.List) else 0


def _layers(call: Node) -> int:
    """How many layers a call gives an LSTM, as far as it says."""
    if call_name(call.func) != "LSTM":
        return 0
    given = [k.value for k in call.keywords if k.arg == "num_layers"] or call.args[_LAYERS[0] : _LAYERS[0] + 1]
    count = constant(given[0]) if given else 1
    return count if isinstance(count, int) else 0
