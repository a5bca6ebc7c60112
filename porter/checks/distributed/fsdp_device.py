"""`FullyShardedDataParallel(model)`: on which device a rank keeps its shards."""

from __future__ import annotations

import ast
import re

from porter.engine.nodes import positional
from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile
from porter.python.index import FUNCTIONS, parents

CLASSES = frozenset(
    f"torch.distributed.fsdp.{module}FullyShardedDataParallel" for module in ("", "fully_sharded_data_parallel.")
)
_MOVED = rb"""\b%s\.(?:(?:cuda|npu)\(|to\((?!\s*(?:\)|dtype\b|torch\.(?:b?float|half)|["']cpu)))"""


class FsdpDevice(Rule):
    code = "PRT210"
    calls = CLASSES

    def visit(self, original: cst.Call, updated: cst.Call, file: RuleFile) -> Answer:
        argument = positional(original, None, ("device_id",))
        if argument is None or argument[1] is None and _is_moved(original, file):
            return None
        if argument[1] is None:
            return Hit(original.func, "missing")
        value = argument[1].value
        kind = "" if file.target.int_is_npu else file.meaning.int_kind(value)
        if not kind:
            return None
        values = (("old", file.text(value)),)
        if (torch := file.names.torch) is None:
            return Hit(value, "integer", values=values)
        args = list(updated.args)
        index = original.args.index(argument[1])
        device = cst.SimpleString(f'"{file.target.device}"')
        made = cst.Call(cst.parse_expression(f"{torch}.device"), [cst.Arg(device), cst.Arg(args[index].value)])
        args[index] = args[index].with_changes(value=made)
        new = updated.with_changes(args=args)
        return Hit(value, "integer", new=new, safe=kind == "known", values=values, loads=True)


def _is_moved(call: cst.Call, file: RuleFile) -> bool:
    """`FullyShardedDataParallel(model.to(device))`, `model.to(device)` above it: it takes the device of the parameters."""
    wrapped = next(
        (a.value for a in call.args if not a.star and (a.keyword is None or a.keyword.value == "module")), None
    )
    if isinstance(wrapped, cst.Name):
        link = file.scene.link_of(call, ast.Call)
        above = next((node for node in parents(link) if isinstance(node, FUNCTIONS)), None)
        begin = file.source.span(above)[0] if above is not None else 0
        return re.search(_MOVED % wrapped.value.encode(), file.source.utf8[begin : file.span(call)[0]]) is not None
    if not isinstance(wrapped, cst.Call) or not isinstance(wrapped.func, cst.Attribute):
        return False
    name, first = wrapped.func.attr.value, wrapped.args[0].value if wrapped.args else None
    if name == "to":
        dtype = isinstance(first, cst.Attribute) and first.attr.value.startswith(("float", "bfloat", "half"))
        return first is not None and not dtype and not (isinstance(first, cst.SimpleString) and "cpu" in first.value)
    return name in ("cuda", "npu")
