"""`(torch.ones(2) * -1).cuda(args.device)`: a tensor, and no module, is moved."""

from __future__ import annotations

import ast

from porter.engine.rule import cst
from porter.engine.rule_file import Link, Node, RuleFile
from porter.python.evidence import call_name

_ANYTHING = frozenset({"torch.load", "torch.compile"})  # what these answer may be a module
_MAKERS = frozenset({"torch.autograd.Variable"})


def is_tensor(call: cst.Call, file: RuleFile) -> bool:
    """Whether functions of torch, and methods of what they answer, made what stands before `.cuda()`."""
    link = file.scene.link(call)
    return link is not None and link[0].__class__ is ast.Attribute and _made(link[0].value, link, file, 0)


def _made(node: Node, link: Link, file: RuleFile, depth: int) -> bool:
    if depth > 4:
        return False
    if node.__class__ is ast.Call:
        if name := file.names.resolve(node.func, link):
            return _answers(name)
        return node.func.__class__ is ast.Attribute and _made(node.func.value, link, file, depth)
    if node.__class__ is ast.BinOp:
        return any(_made(side, link, file, depth + 1) for side in (node.left, node.right))
    if node.__class__ is not ast.Name:
        return False
    values = [_value(binding) for binding in file.names.bindings(node.id, link)]
    others = [value for value in values if not _is_own_method(value, node.id)]
    return bool(others) and all(_made(value, link, file, depth + 1) for value in others)


def _answers(name: str) -> bool:
    plain = name.startswith("torch.") and name.count(".") == 1 and name not in _ANYTHING
    return plain or name in _MAKERS or name.startswith("torch.nn.functional.")


def _value(binding: Link) -> Node:
    """What an assignment to a single name gives it; None for a parameter, a loop and whatever else binds a name."""
    above = binding and binding[1] and binding[1][0]
    return above.value if above.__class__ is ast.Assign else None


def _is_own_method(value: Node, name: str) -> bool:
    """`x = x.cuda()`, `x = x.float()`: what it was before says what it is."""
    called = value.__class__ is ast.Call and call_name(value.func) and getattr(value.func, "value", None)
    return getattr(called, "id", "") == name


def is_dropped(call: cst.Call, file: RuleFile) -> bool:
    """`hidden.cuda()` as a statement, where `hidden` is what `torch.zeros(...)` gave: a tensor is not moved in place."""
    link, moved = file.scene.link(call), call.func.value if isinstance(call.func, cst.Attribute) else None
    if link is None or not isinstance(moved, cst.Name) or link[1][1][0].__class__ is not ast.Expr:
        return False
    made = file.meaning.made_by(moved) or ""
    return made.startswith("torch.") and made.count(".") == 1 and made not in _ANYTHING
