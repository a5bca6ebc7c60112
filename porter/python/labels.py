"""Finds strings that look like a device and are only a label: a name in `__all__`, a kind of layer, the key of a dictionary."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from porter.python.blocks import once_for_file
from porter.python.evidence import constant, like
from porter.python.index import Link, Node, ancestors, walk
from porter.python.strings.other_words import is_its_own_word
from porter.regex import lazy

if TYPE_CHECKING:
    from porter.python.file import File

# names of class attributes that say what kind of thing a class is
_KIND = lazy(r"(?:^|_)(?:TYPE|KIND|NAME|LABEL|VARIANT)$")


def is_label(file: File, link: Link) -> bool:
    """Whether the string at `link` is only a label."""
    above: Node = link[1][0]
    if above.__class__ is ast.Subscript and above.slice is link[0] and above.ctx.__class__ is ast.Load:
        return constant(link[0]) in _written_keys(file)
    if is_its_own_word(file.names, link, "backend" if str(constant(link[0])).lower() == "nccl" else "device"):
        return True
    for up in ancestors(link):
        if isinstance(up[0], (ast.Assign, ast.AugAssign, ast.AnnAssign)):
            targets = up[0].targets if isinstance(up[0], ast.Assign) else [up[0].target]
            return all(getattr(t, "id", "") == "__all__" or _is_kind(t, link, up) for t in targets)
        if not isinstance(up[0], (ast.List, ast.Tuple, ast.BinOp)):
            return False
    return False


def _is_kind(target: Node, link: Link, statement: Link) -> bool:
    """Whether the string names the kind of a class: `QUANT_TYPE = "cuda"` in its body."""
    name = getattr(target, "id", "")
    in_class = statement[1] is not None and statement[1][0].__class__ is ast.ClassDef
    return in_class and link[1] is statement and _KIND.search(name) is not None and not like(name, "device")


@once_for_file
def _written_keys(file: File) -> frozenset[str]:
    """The keys under which the file stores something. A read with such a key needs the same string."""
    keys: list[Node] = []
    for node in walk(file.tree):  # the buckets do not hold all dictionaries, only what some rule asks for
        if node.__class__ is ast.Dict:
            keys += node.keys
        elif node.__class__ is ast.Subscript and node.ctx.__class__ is ast.Store:
            keys.append(node.slice)
    return frozenset(text for key in keys if isinstance(text := constant(key), str))
