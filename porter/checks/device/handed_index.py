"""`device = torch.cuda.current_device()`, `evaluate(model, torch.cuda.current_device())`: before torch 2.5.1 the integer that is handed
on means a CUDA device where a call of torch takes it."""

from __future__ import annotations

import ast
from typing import Any

from porter.engine.rule import Hit, cst
from porter.engine.rule_file import Link, RuleFile
from porter.python.handed_index import takes_device, uses_of
from porter.python.index import ancestors
from porter.regex import lazy

_SAYS_INDEX = lazy(r"\w*rank|current_device|gpu|gpu_id|device_id")


def handed(original: cst.Call, updated: cst.Call, file: RuleFile) -> Hit | None:
    """What is said of a call of `torch.cuda.current_device`."""
    chain = None if original.args else file.link(original.func)
    value = next((up for up in ancestors(chain) if up[0].__class__ is ast.Call), None)
    if not isinstance(updated, cst.Call) or value is None or _is_seen_elsewhere(value, file):
        return None
    uses = uses_of(file, value)
    if not (uses.device or uses.named):
        return None
    old = file.text(original)
    text = spelled(old, updated, file)
    values = (("old", old), ("new", text or ""))
    if uses.number:
        # a name with several values may hold another one where the number is needed
        return Hit(original, "counted", values=values) if uses.device and not uses.rebound else None
    if text is None:
        return Hit(original, "by-hand", values=values)
    safe = not (uses.either or uses.handed or uses.left or uses.shared)
    new = cst.parse_expression(text)
    return Hit(original, "known" if safe else "handed", new=new, safe=safe, values=values, loads=True)


def _is_seen_elsewhere(value: Link, file: RuleFile) -> bool:
    """Whether the call that takes the value is edited itself, or each use of the name that holds it."""
    up = value[1]
    if up is not None and up[0].__class__ is ast.keyword:
        return up[0].arg != "map_location" and takes_device(file, up[1], up[0])
    if up is not None and up[0].__class__ is ast.Call:
        return takes_device(file, up, value[0])
    target = up[0].targets[0] if up is not None and up[0].__class__ is ast.Assign else None
    return isinstance(target, ast.Name) and is_found_by_name(target.id)


def is_found_by_name(name: str) -> bool:
    """Whether a name says that it holds an integer: then its uses are edited one by one."""
    return _SAYS_INDEX.fullmatch(name) is not None


def spelled(old: str, updated: Any, file: RuleFile) -> str | None:
    """`"npu:0"` for 0, `f"npu:{rank}"` for the rest; None where no f-string can hold it. Where the type of device is a name:
    `torch.device(accelerator_type, rank)`."""
    if not file.style.one_world:
        index, name = cst.Module([]).code_for_node(updated), file.style.type_name(file)
        is_written = name is not None and not set(index) & {"\n", "#"}
        return f"{file.imported.head()}.device({name}, {index})" if is_written else None
    device = file.target.device
    if isinstance(updated, cst.Integer):
        return f'"{device}:{old}"' if old.isdecimal() else None
    text = cst.Module([]).code_for_node(updated.with_changes(lpar=[], rpar=[]))
    quote = '"' if '"' not in text else "'"
    return None if set(text) & {"\\", "\n", "{", "}", "#", quote} else f"f{quote}{device}:{{{text}}}{quote}"
