"""One number that makes a device the only visible one, and then names it: `os.environ["CUDA_VISIBLE_DEVICES"] = str(gpu)`, and
`torch.device(f"cuda:{gpu}")` below. What is visible is numbered from 0. A GPU hides the mistake where CUDA was asked for before.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import takewhile

from porter.engine.rule_file import Link, Node, RuleFile
from porter.python.blocks import below, once_for_file
from porter.python.evidence import constant
from porter.python.index import FUNCTIONS, ancestors, walk
from porter.regex import lazy

_DEVICE = lazy(r"cuda:(?:\{\w*\}|%[ds])?$")


def numbered_twice(variable: Link, file: RuleFile) -> str:
    """The number, as the code writes it; "" for none. `variable`: the name in what sets it."""
    statement = next((up[0] for up in ancestors(variable) if isinstance(up[0], ast.Assign)), None)
    if statement is None:
        return ""
    numbers = {ast.unparse(n) for n in walk(statement.value) if isinstance(n, (ast.Name, ast.Attribute))}
    if numbers.isdisjoint(_numbers(file)):  # once for the file: below each variable of many may stand the rest of it
        return ""
    following = (later for up in _up_to_function(variable) for later in below(up))
    return next((number for s in following for node in walk(s) if (number := _number(node)) in numbers), "")


@once_for_file
def _numbers(file: RuleFile) -> frozenset[str]:
    """The numbers in all such names of a file."""
    return frozenset(map(_number, walk(file.tree))) if file.source.says(b"cuda:") else frozenset()


def _up_to_function(link: Link) -> Iterator[Link]:
    return takewhile(lambda up: not isinstance(up[0], FUNCTIONS), ancestors(link))


def _number(node: Node) -> str:
    """The number in the name of a device that is put together: `f"cuda:{gpu}"`, `"cuda:{}".format(gpu)`, `"cuda:" + str(gpu)`."""
    number: Node = None
    if isinstance(node, ast.JoinedStr) and len(node.values) == 2 and constant(node.values[0]) == "cuda:":
        number = getattr(node.values[1], "value", None)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format":
        number = node.args[0] if len(node.args) == 1 and _is_device(node.func.value) else None
    elif isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Mod)) and _is_device(node.left):
        number = node.right
    if isinstance(number, ast.Call) and getattr(number.func, "id", "") in ("str", "int") and len(number.args) == 1:
        number = number.args[0]
    return ast.unparse(number) if number is not None else ""


def _is_device(node: Node) -> bool:
    text = constant(node)
    return isinstance(text, str) and _DEVICE.match(text) is not None
