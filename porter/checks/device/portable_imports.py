"""`from torch.cuda.amp import autocast` in a portable port: the name is bound at the head, from the accelerator's module."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from porter.engine.nodes import chain
from porter.engine.portable import MODULE
from porter.engine.rule import AtHead, Hit, cst
from porter.engine.rule_file import RuleFile
from porter.finding import Change

CUDA = "torch.cuda"


def at_head(original: cst.Import | cst.ImportFrom, file: RuleFile) -> Hit | None:
    """None where the import has nothing of torch.cuda. Without edits where one name would be lost."""
    pairs = list(_bound(original))
    if not any(full == CUDA or full.startswith(f"{CUDA}.") for full, _ in pairs):
        return None
    values = (("names", ", ".join(full for full, _ in pairs)),)
    lines = [_line(full, bound, file) for full, bound in pairs]
    span = _whole_lines(file)
    if file.imported.head() is None or span is None or not all(lines):
        return Hit(original, "missing", values=values)
    heads = tuple(AtHead(line) for line in lines if line)
    return Hit(original, "from", after=heads, more=(Change(*span, b""),), safe=True)


def _bound(original: Any) -> Iterator[tuple[str, str]]:
    """What an import binds: the full name, and the name in this file."""
    module = ".".join(chain(original.module)) if hasattr(original, "module") else ""
    for alias in original.names:
        name = ".".join(chain(alias.name))
        if module or alias.asname is not None:
            bound = alias.asname.name.value if alias.asname else name
            yield (f"{module}.{name}" if module else name), bound


def _line(full: str, bound: str, file: RuleFile) -> str | None:
    if full == CUDA:
        return f"{bound} = {MODULE}"
    tail = full.removeprefix(f"{CUDA}.")
    new = file.style.name(tail, tail, file) if tail != full else None
    return new and f"{bound} = {new}"


def _whole_lines(file: RuleFile) -> tuple[int, int] | None:
    """Of a statement of the module's own that has its lines for itself, and no comment on them."""
    statement = file.statement
    link = file.scene.link_to(statement)
    if link is None or link[1][0].__class__ is not ast.Module:
        return None
    start, end = file.source.span(statement)
    begin, behind = file.source.starts[file.source.line(start) - 1], file.source.line_end(end)[1]
    text = file.source.utf8[begin:behind]
    return (begin, behind) if text.strip() == file.source.utf8[start:end] and b"#" not in text else None
