"""`from torch.cuda.amp import autocast` in a portable port: the name is bound from the accelerator's module.

An import of the module's own becomes a line at the head; in a function, a branch or a `try`, the name is bound in its place.
"""

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
    moved = [full for full, _ in pairs if full == CUDA or full.startswith(f"{CUDA}.")]
    if not moved:
        return None
    if missing := [full for full in moved if not file.session.has(full.replace(CUDA, file.target.namespace, 1))]:
        return Hit(original, "missing", values=(("names", ", ".join(missing)),))
    lines = [_line(full, bound, file) for full, bound in pairs]
    if file.imported.head() is not None and all(lines):
        if (span := _whole_lines(file)) is not None:
            begin, behind, comment = span
            heads = tuple(AtHead(f"{line}{comment if line is lines[-1] else ''}") for line in lines if line)
            return Hit(original, "from-accelerator", after=heads, more=(Change(begin, behind, b""),), safe=True)
        if not _is_top(file):
            names, new = zip(*(line.split(" = ") for line in lines if line))
            bound: Any = cst.parse_statement(f"{', '.join(names)} = {', '.join(new)}")
            return Hit(original, "from-accelerator", new=bound.body[0], safe=True)
    values = (
        ("names", ", ".join(moved)),
        ("to", ", ".join(full.replace(CUDA, file.target.namespace, 1) for full in moved)),
    )
    return Hit(original, "by-hand", values=values)


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


def _whole_lines(file: RuleFile) -> tuple[int, int, str] | None:
    """Of a statement of the module's own that has its lines for itself; and the comment behind it. None where one is inside."""
    statement = file.statement
    if not _is_top(file):
        return None
    start, end = file.source.span(statement)
    begin, behind = file.source.starts[file.source.line(start) - 1], file.source.line_end(end)[1]
    before, inside, after = (file.source.utf8[i:j] for i, j in ((begin, start), (start, end), (end, behind)))
    comment = after.strip()
    if before or b"#" in inside or comment and not comment.startswith(b"#"):
        return None
    return begin, behind, f"  {comment.decode()}" if comment else ""


def _is_top(file: RuleFile) -> bool:
    """Whether the statement stands in the module itself, where the head may follow it."""
    link = file.scene.link_to(file.statement)
    return link is None or link[1][0].__class__ is ast.Module
