"""`torch.version.cuda` and cuDNN's version: None in a torch that runs beside torch_npu."""

from __future__ import annotations

import ast

from porter.engine.rule import TOGETHER, Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile
from porter.python.evidence import call_name
from porter.python.index import Link, Node

LOGS = ("print", "info", "debug", "warning", "log", "append", "dict", "join", "format")


class CudaVersion(Rule):
    code = "PRT141"
    edits = False
    references = frozenset({"torch.version.cuda", "torch.backends.cudnn.version", "torch._C._cuda_getCompiledVersion"})

    def visit(self, original: cst.Attribute | cst.Name, updated: cst.Attribute | cst.Name, file: RuleFile) -> Answer:
        if file.around.is_set(original):
            return None
        name = file.name(original) or ""
        is_logged = any(file.around.is_within(original, callee) for callee in LOGS)
        why = "told" if is_logged or _is_noted(file.link(original), file) else "asked"
        if file.path.rpartition("/")[2] == "setup.py":
            why = "built"
        line = file.source.line(file.span(original)[0])
        cause = f"{why} {name}" + (f" {line}" if why == "asked" else "")  # each line that asks has a cure of its own
        return Hit(original, why, values=(("name", name), (TOGETHER, cause)))


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
