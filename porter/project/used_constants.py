"""Constants of a module that hold a device or a backend, and that other files use."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from porter.project.modules import IMPORTED, may_be, module_of
from porter.python.evidence import call_name, like, named
from porter.python.trees import Parse
from porter.python.walks import statements, walk


def used_constants(
    defined: dict[str, list[tuple[str, str]]], texts: dict[str, bytes], parse: Parse
) -> Iterable[tuple[str, str, str, str]]:
    """Constants that another file imports by name and hands to something that takes a device or a backend.

    `defined`: by the name of a constant, the files that define it, each with "device" or "backend". Answers with (the file that
    defines it, its name, the kind, the file that uses it); a file that imports twice is there twice."""
    if not defined:
        return
    modules = frozenset(map(module_of, texts))
    for path, data in texts.items():
        imported = b" ".join(IMPORTED.findall(data)).decode("utf-8", "replace")
        tree = None if defined.keys().isdisjoint(re.findall(r"\w+", imported)) else parse(data)
        if tree is None:
            continue
        for node in statements(tree):
            if isinstance(node, ast.ImportFrom):
                base = "." * node.level + (f"{node.module}." if node.module else "")
                for alias in node.names:
                    for defined_in, kind in defined.get(alias.name, ()):
                        meant = defined_in != path and may_be(base + alias.name, path, defined_in, alias.name, modules)
                        if meant and _handed_over(tree, alias.asname or alias.name, kind):
                            yield defined_in, alias.name, kind, path


def _handed_over(tree: ast.Module, name: str, kind: str) -> bool:
    for node in walk(tree):
        if isinstance(node, ast.Call):
            for k in node.keywords:
                if k.arg and like(k.arg, kind) and getattr(k.value, "id", "") == name:
                    return True
            if any(getattr(a, "id", "") == name for a in node.args):
                callee = call_name(node.func)
                if callee in ("to", "device", "init_process_group", "autocast") or like(callee, kind):
                    return True
        elif isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            if any(getattr(s, "id", "") == name for s in sides) and any(named(s, kind) for s in sides):
                return True
        elif isinstance(node, ast.Assign) and getattr(node.value, "id", "") == name:
            if any(named(t, kind) for t in node.targets):
                return True
    return False
