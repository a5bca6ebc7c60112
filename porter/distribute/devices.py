"""Devices that a script names by their number: each rank has one device, and it is the current one."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from porter.distribute.own_files import HELPER
from porter.distribute.statements import replaced
from porter.distribute.trace import Place
from porter.finding import Change
from porter.python.evidence import call_name, constant
from porter.python.index import ancestors
from porter.regex import lazy
from porter.target import Target

_NUMBER = lazy(r"(?i)gpu|rank|dev(?:ice)?_?ids?|cuda_?id|npu")
# what `to()` takes for a device; other names may hold a type or a tensor
_INDEX = lazy(r"(?i)(?:.*\.)?(?:gpu|(?:local_?)?rank|(?:gpu|dev|device)_?id|(?:gpu|device)_?ids\[\w+\]|gpus\[\w+\])")
_VISIBLE = ("CUDA_VISIBLE_DEVICES", "ASCEND_RT_VISIBLE_DEVICES")


def numbers(place: Place, target: Target) -> Iterator[Change]:
    """Edits of one expression, if it names a device by its number."""
    node, source = place.node, place.file.source
    head = f"{target.device}:"
    above = place.link[1][0] if place.link[1] else None
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        if node.value.removeprefix(head).isdigit() and node.value.startswith(head):
            yield replaced(source, node, f'"{target.device}"')
        elif node.value in (head, f"{head}%d", f"{head}{{}}", f"{head}%s") and above is not None:
            whole = _computed(above, place)
            if whole is not None:
                yield replaced(source, whole, f'"{target.device}"')
    elif isinstance(node, ast.JoinedStr) and node.values and isinstance(first := node.values[0], ast.Constant):
        if first.value == head and len(node.values) == 2:
            yield replaced(source, node, f'"{target.device}"')
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        yield from _of_call(node, node.func, place, target)


def _of_call(call: ast.Call, func: ast.Attribute, place: Place, target: Target) -> Iterator[Change]:
    source, given = place.file.source, call.args[:1]
    end = source.span(call)[1] - 1
    takes_current = func.attr == "set_device" or func.attr == "device" and call_name(func.value) == target.device
    if takes_current and given and HELPER not in ast.unparse(call):
        yield replaced(source, given[0], f"{HELPER}.local_rank()")
    elif func.attr == target.device and given and _is_number(given[0]):
        yield Change(source.span(given[0])[0], source.span(call.keywords[0])[0] if call.keywords else end, b"")
    elif func.attr == target.device:
        for keyword in call.keywords:
            if keyword.arg == "device" and _is_number(keyword.value):
                yield replaced(source, keyword.value, f"{HELPER}.local_rank()")
    elif func.attr in ("to", "to_empty") or getattr(func.value, "id", "") == "torch":
        places = [
            *(given if func.attr in ("to", "device") else []),
            *(k.value for k in call.keywords if k.arg == "device"),
        ]
        yield from (replaced(source, node, f'"{target.device}"') for node in places if _is_index(node))
    if func.attr == "device" and given and constant(given[0]) == target.device:  # torch.device("npu", 0)
        yield Change(source.span(given[0])[1], end, b"")


def _computed(above: ast.AST, place: Place) -> ast.AST | None:
    """The whole of `"npu:" + str(gpu)`, `"npu:%d" % gpu`, `"npu:{}".format(gpu)`."""
    if isinstance(above, ast.BinOp) and above.left is place.node:
        return above
    if isinstance(above, ast.Attribute) and above.attr == "format":
        return next(up[0] for up in ancestors(place.link) if isinstance(up[0], ast.Call))
    return None


def _is_number(node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int)
    return isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)) and bool(_NUMBER.search(ast.unparse(node)))


def _is_index(node: ast.expr) -> bool:
    """`0`, `gpu`, `args.local_rank`, `gpu_ids[0]`"""
    if isinstance(node, ast.Constant):
        return type(node.value) is int
    return _INDEX.fullmatch(ast.unparse(node)) is not None


def hides_devices(node: ast.AST) -> bool:
    """`os.environ["CUDA_VISIBLE_DEVICES"] = "0"`: all ranks would see the devices of one list only."""
    if isinstance(node, ast.Assign):
        target = node.targets[0]
        return isinstance(target, ast.Subscript) and any(name in ast.unparse(target) for name in _VISIBLE)
    call = node.value if isinstance(node, ast.Expr) else None
    return (
        isinstance(call, ast.Call)
        and call_name(call.func) in ("setdefault", "putenv")
        and any(name in ast.unparse(call) for name in _VISIBLE)
    )
