"""What a statement could call the rank of its process on this machine, and the module it needs for that."""

from __future__ import annotations

import ast
import re

from .index import FUNCTIONS, Link, ancestors

_LOCAL_RANK = re.compile(r"_?local_?rank", re.IGNORECASE)
_FROM_ENVIRONMENT = re.compile(rb"environ(?:\.get\(|\[)\s*[\"']LOCAL_RANK[\"']")


def local_rank(file, link: Link | None) -> str | None:
    """`local_rank`, `args.local_rank` or `int(os.environ["LOCAL_RANK"])`, whichever is in sight of a place."""
    if link is None:
        return None
    for name in sorted(n for n in file.names.others if _LOCAL_RANK.fullmatch(n)):
        if _bound_before(file, name, link):
            return name
    for at in file.buckets[ast.Attribute]:
        node = at[0]
        if (
            _LOCAL_RANK.fullmatch(node.attr)
            and node.value.__class__ is ast.Name
            and _bound_before(file, node.value.id, link)
        ):
            return f"{node.value.id}.{node.attr}"
    if _FROM_ENVIRONMENT.search(file.source.utf8) and (os := module(file, link, "os")):
        return f'int({os}.environ["LOCAL_RANK"])'
    return None


def module(file, link: Link | None, name: str) -> str | None:
    """What an imported module is called at a place; None where it is not, or where the name may be something else."""
    for bound, imports in sorted(file.names.imports.items()):
        if bound not in file.names.others and all(target == name for target, _ in imports):
            if any(_around(at) is None or _around(at) is _around(link) for _, at in imports):
                return bound
    return None


def _bound_before(file, name: str, link: Link) -> bool:
    bindings = file.names.bindings(name, link)
    line = link[0].lineno
    return any(
        getattr(at[0], "lineno", 0) < line or at[0].__class__ is ast.arg or _around(at) is not _around(link)
        for at in bindings
        if not _in_lambda(at)
    )


def _around(link: Link | None) -> ast.AST | None:
    return next((above[0] for above in ancestors(link) if isinstance(above[0], FUNCTIONS)), None)


def _in_lambda(link: Link) -> bool:
    return isinstance(_around(link), ast.Lambda)
