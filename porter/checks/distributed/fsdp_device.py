"""`FullyShardedDataParallel(model)`: on which device a rank keeps its shards."""

from __future__ import annotations

import ast

from porter.engine.nodes import positional
from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile
from porter.python.evidence import MOVES
from porter.python.index import FUNCTIONS, Link, Node, parents, walk
from porter.regex import lazy

CLASSES = frozenset(
    f"torch.distributed.fsdp.{module}FullyShardedDataParallel" for module in ("", "fully_sharded_data_parallel.")
)
_DEVICE_ID = 9  # among what FullyShardedDataParallel takes
_NO_DEVICE = lazy(r"""["']cpu|\.(?:b?float|half)\w*$""")


class FsdpDevice(Rule):
    code = "PRT210"
    calls = CLASSES

    def visit(self, original: cst.Call, updated: cst.Call, file: RuleFile) -> Answer:
        argument = positional(original, _DEVICE_ID, ("device_id",))
        if argument is None:
            return None
        if argument[1] is None:
            is_left = not file.tested and not _is_moved(file.scene.link_of(original, ast.Call))
            return Hit(original.func, "missing") if is_left else None
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


def _is_moved(link: Link | None) -> bool:
    """`FullyShardedDataParallel(model.to(device))`, `model.to(device)` above it: it takes the device of the parameters. What comes
    from elsewhere, as a parameter, may have been moved there."""
    if link is None:
        return False
    call, *around = (link[0], *parents(link))
    module = next((keyword.value for keyword in call.keywords if keyword.arg == "module"), None)
    wrapped: Node = module or next(iter(call.args), None)
    if wrapped.__class__ is ast.Call:
        return _moves(wrapped)
    name, end = ast.unparse(wrapped) if wrapped is not None else "", (call.lineno, call.col_offset)
    function = next(node for node in around if isinstance(node, (*FUNCTIONS, ast.Module)))
    made = (target for node in walk(function) if isinstance(node, ast.Assign) for target in node.targets)
    if name not in {ast.unparse(target) for target in made}:
        return True
    return any(
        _moves(node) and (node.lineno, node.col_offset) < end and ast.unparse(node.func.value) == name
        for node in walk(function)
    )


def _moves(node: Node) -> bool:
    """`model.cuda()`, `model.to(device)`, and not `model.to(torch.half)` or `model.to("cpu")`"""
    if node.__class__ is not ast.Call or node.func.__class__ is not ast.Attribute or node.func.attr not in MOVES:
        return False
    device = next((keyword.value for keyword in node.keywords if keyword.arg == "device"), next(iter(node.args), None))
    return node.func.attr != "to" or device is not None and not _NO_DEVICE.search(ast.unparse(device))
