"""What the text of a function says of the default of a parameter: it is edited with the default, else it tells of one that is gone."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from porter.engine.rule_file import Link, Node, RuleFile
from porter.finding import Change
from porter.python.evidence import constant
from porter.python.index import FUNCTIONS, owner_of
from porter.python.parameters import defaulted

# `device (str): ...`, `device : str, optional`, `:param device: ...`, with the lines below that are indented further
_PARAGRAPH = rb"(?m)^([ \t]*)(?:[rRuU]?[\"']{1,3})?(?::(?:param|type)[ \t]+(?:[\w.]+[ \t]+)?|[-*][ \t]+)?[`*]*%s[`*]*[ \t]*(?:\([^()\n]*\)[ \t]*)?:[^\n]*"
# `Defaults to 'cuda'`, `(default: nccl)`, `default="cuda"`, `"nccl" by default`
_SAID = (
    rb"\b[dD]efault(?:s|ed)?\b(?:[ \t\n]|\b(?:to|is|value)\b|[:=(,-])*[\"'`]*(%s)(?![\w:/-]|\.\w)",
    rb"(?<![\w.:/-])(%s)[\"'`]*[ \t\n]*\(?(?:by[ \t\n]+)?default\b",
)


def described(link: Link, new: str, file: RuleFile) -> tuple[Change, ...]:
    """The edits in the docstrings of a function, and of the class that it makes or that has a field, for the default at `link`,
    which becomes `new`."""
    old, (name, owners) = constant(link[0]), _default(link)
    if not isinstance(old, str):
        return ()
    texts = [text for node in owners if (text := _docstring(node)) is not None]
    return tuple(
        change for text in texts for change in _changes(*file.source.span(text), name, old.encode(), new, file)
    )


def _default(link: Link) -> tuple[bytes, tuple[Node, ...]]:
    """The name of the parameter or field that this is the default of, and what may tell of it."""
    up: Link = link[1]
    above, around = up[0], up[1] and up[1][0]
    if isinstance(above, ast.AnnAssign) and isinstance(above.target, ast.Name) and isinstance(around, ast.ClassDef):
        return above.target.id.encode(), (around,)
    if not isinstance(above, ast.arguments) or not isinstance(around, FUNCTIONS[:2]):
        return b"", ()
    owner = owner_of(up[1]) if around.name == "__init__" else None
    return defaulted(above, link[0]).arg.encode(), (around, *([owner] if owner is not None else ()))


def _docstring(node: Node) -> ast.Constant | None:
    first = node.body[0]
    value = first.value if isinstance(first, ast.Expr) else None
    return value if isinstance(value, ast.Constant) and isinstance(value.value, str) else None


def _changes(start: int, end: int, name: bytes, old: bytes, new: str, file: RuleFile) -> Iterator[Change]:
    data = file.source.utf8[start:end]
    for head in re.finditer(_PARAGRAPH % re.escape(name), data):
        stop = _end(data, head.end(), len(head[1]))
        found = {m.span(1) for said in _SAID for m in re.finditer(said % re.escape(old), data[head.start() : stop])}
        for first, last in sorted(found):
            yield Change(start + head.start() + first, start + head.start() + last, new.encode())


def _end(data: bytes, start: int, indent: int) -> int:
    """Where the lines end that belong to a head: at a blank line, or at one that is not indented further."""
    while data[start : start + 1] == b"\n":
        line = data[start + 1 :].partition(b"\n")[0]
        if len(line) - len(line.lstrip()) <= indent or not line.strip():
            break
        start += 1 + len(line)
    return start
