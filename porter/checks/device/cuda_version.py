"""`torch.version.cuda` and cuDNN's version: None in a torch that runs beside torch_npu."""

from __future__ import annotations

import ast

from porter.checks.device.version_compared import is_checked
from porter.engine.rule import TOGETHER, Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile
from porter.python.evidence import call_name
from porter.python.index import Link, Node
from porter.python.put_out import is_put_out

LOGS = ("print", "info", "debug", "warning", "log", "append", "dict", "join", "format")


class CudaVersion(Rule):
    code = "PRT141"
    edits = False
    references = frozenset({"torch.version.cuda", "torch.backends.cudnn.version", "torch._C._cuda_getCompiledVersion"})

    def visit(self, original: cst.Attribute | cst.Name, updated: cst.Attribute | cst.Name, file: RuleFile) -> Answer:
        if file.around.is_set(original):
            return None
        name, link = file.name(original) or "", file.link(original)
        value = link and _value(link, name, file)
        if value is not None and is_put_out(value):
            return None  # as "None"
        if value is not None and is_checked(value, name, file):
            return None
        is_logged = any(file.around.is_within(original, callee) for callee in LOGS) or _is_noted(link, file)
        why = "told" if is_logged and not _fails(value) else "asked"
        if file.path.rpartition("/")[2] == "setup.py":
            why = "built"
        line = file.source.line(file.span(original)[0])
        cause = f"{why} {name}" + (f" {line}" if why == "asked" else "")  # each line that asks has a cure of its own
        return Hit(original, why, values=(("name", name), (TOGETHER, cause)))


def _value(link: Link, name: str, file: RuleFile) -> Link:
    """From the first word of a chain to all of what is asked for: `cudnn.version()` of `cudnn.version().real`."""
    root = file.names.root(link[0].id, link) or name
    for _ in name.removeprefix(root).split(".")[1:]:
        link = link[1] if link[1][0].__class__ is ast.Attribute else link
    above: Node = link[1][0]
    return link[1] if above.__class__ is ast.Call and above.func is link[0] else link


def _fails(value: Link | None) -> bool:
    """Whether what is done with it first has no None."""
    above: Node = value[1][0] if value is not None else None
    if above.__class__ is ast.FormattedValue:
        return above.format_spec is not None and above.conversion < 0
    return above.__class__ is ast.Attribute or above.__class__ is ast.BinOp and above.op.__class__ is ast.Add


def _is_noted(link: Link | None, file: RuleFile) -> bool:
    """`facts["cudnn"] = cudnn.version()`, at once or through a name: nobody here computes with it."""
    if link is None:
        return False
    while link[1][0].__class__ is ast.Attribute or link[1][0].__class__ is ast.Call and link[1][0].func is link[0]:
        link = link[1]
    statement: Node = link[1][0]
    target: Node = statement.targets[0] if statement.__class__ is ast.Assign and len(statement.targets) == 1 else None
    if target.__class__ is not ast.Name:
        return _is_kept(link)
    uses = file.names.readers(target.id, (target, link[1]))
    return bool(uses) and all(map(_is_kept, uses))


def _is_kept(link: Link) -> bool:
    above: Node = link[1][0]
    if above.__class__ is ast.Assign:
        target: Node = above.targets[0]
        return target.__class__ is ast.Subscript and isinstance(getattr(target.slice, "value", None), str)
    if above.__class__ is ast.Call:
        return above.func is not link[0] and call_name(above.func) in LOGS
    return above.__class__ is ast.FormattedValue
