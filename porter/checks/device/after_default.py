"""A default type of tensors that the same block takes back: nothing outside sees it, and the device goes back with it."""

from __future__ import annotations

import ast

from porter.engine.rule import cst
from porter.engine.rule_file import Link, Node, RuleFile
from porter.finding import Change
from porter.project.unmoved import is_unmoved
from porter.python.blocks import place
from porter.python.evidence import call_name, is_log
from porter.python.index import ancestors
from porter.python.walks import walk
from porter.regex import lazy

SETTER = "torch.set_default_tensor_type"
_LOADS = lazy(r"Load|Data|Train|Runner|Solver|Experiment")  # a class that may make its loaders itself
LEAVES = (ast.Return, ast.Break, ast.Continue, ast.Yield, ast.YieldFrom, ast.Await)


def back_on_cpu(setter: cst.Call, torch: str, file: RuleFile) -> Change | None:
    """What puts the device back where a type of the CPU is set again, after objects that are made in between; None where
    something else stands there, which may make what a default device leaves where it is."""
    link = file.link(setter.func)
    statement = next((up for up in ancestors(link) if isinstance(up[0], ast.stmt)), None)
    if statement is None:
        return None
    owner: Node = statement[1][0]
    field, index = place(owner, statement[0])
    following: list[ast.stmt] = getattr(owner, field)[index + 1 :] if field else []
    for count, other in enumerate(following):
        if _sets_cpu(other, statement[1], file):
            return _device_back(other, torch, file) if count else None
        if not _makes_objects(other, statement[1], file):
            return None
    return None


def _device_back(statement: ast.stmt, torch: str, file: RuleFile) -> Change:
    start = file.source.span(statement)[0]
    line = file.source.starts[file.source.line(start) - 1]
    before = file.source.utf8[line:start]
    behind = b"\n" + before if not before.strip() else b"; "
    if behind != b"; " and file.source.utf8[line - 2 : line] == b"\r\n":
        behind = b"\r" + behind
    return Change(start, start, f'{torch}.set_default_device("cpu")'.encode() + behind)


def _sets_cpu(statement: ast.stmt, block: Link, file: RuleFile) -> bool:
    call: Node = getattr(statement, "value", None) if isinstance(statement, ast.Expr) else None
    if call.__class__ is not ast.Call or len(call.args) != 1 or call.keywords:
        return False
    if file.names.resolve(call.func, block) != SETTER:
        return False
    value = call.args[0]
    name = value.value if value.__class__ is ast.Constant else file.names.resolve(value, block)
    return isinstance(name, str) and name.startswith("torch.") and name.endswith("Tensor") and name.count(".") == 1


def _makes_objects(statement: ast.stmt, block: Link, file: RuleFile) -> bool:
    """`model = Transformer(args)`, `print(model)`: a function of the project may do anything, a class makes its tensors."""
    for node in walk(statement):
        if isinstance(node, LEAVES) or is_unmoved(node):
            return False
        if isinstance(node, ast.Call):
            name, full = call_name(node.func), file.names.resolve(node.func, block) or ""
            if full.startswith("torch.") and full != SETTER:
                continue
            if not is_log(node.func, name) and (not name[:1].isupper() or _LOADS.search(name)):
                return False
    return True
