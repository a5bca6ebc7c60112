"""Finds functions that make a process group and whose callers choose the device of the process in one of the next lines."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable

from porter.files.kinds import PYTHON, kind_of
from porter.python.index import FUNCTIONS
from porter.python.walks import statements

# the files with a word, and their texts; None where nobody can tell
Saying = Callable[[bytes], "Iterable[tuple[str, bytes]] | None"]

_NEAR = 3  # lines after a call


def chooser(tree: ast.Module | None, line: int, home: str, saying: Saying) -> str:
    """The first file with a caller that chooses the device, if all callers of the function around a line do; "" for none."""
    functions = (node for node in statements(tree) if isinstance(node, FUNCTIONS[:2])) if tree is not None else ()
    around = [node for node in functions if node.lineno <= line <= (node.end_lineno or node.lineno)]
    files = saying(around[0].name.encode()) if len(around) == 1 else None
    if files is None:
        return ""
    name = re.escape(around[0].name.encode())
    named = re.compile(rb"(?<!def )\b%s\(" % name)
    called = re.compile(rb"%s(?:[^()]|\([^()\n]*\))*\)((?:[^\n]*\n){1,%d})" % (named.pattern, _NEAR + 1))
    first = ""
    for path, text in files:
        if kind_of(path) != PYTHON:
            continue
        calls = [match[1] for match in called.finditer(text)]
        if len(calls) < len(named.findall(text)) or not all(b"set_device(" in c for c in calls):
            return ""
        first = first or (path if calls and path != home else "")
    return first
