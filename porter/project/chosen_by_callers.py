"""Finds functions that make a process group and whose callers tell the process its device."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable

from porter.files.kinds import PYTHON, kind_of
from porter.python.index import FUNCTIONS
from porter.python.walks import statements
from porter.regex import lazy
from porter.rulebook.table import any_of

# the files with a word, and their texts; None where nobody can tell
Saying = Callable[[bytes], "Iterable[tuple[str, bytes]] | None"]

_CHOSEN = lazy(any_of("tells-its-device").encode())


def chooser(tree: ast.Module | None, line: int, home: str, saying: Saying) -> str:
    """The first file that calls the function around a line and chooses the device, if all files do that call it; "" for none."""
    functions = (node for node in statements(tree) if isinstance(node, FUNCTIONS[:2])) if tree is not None else ()
    around = [node for node in functions if node.lineno <= line <= (node.end_lineno or node.lineno)]
    files = saying(around[0].name.encode()) if len(around) == 1 else None
    if files is None:
        return ""
    called = re.compile(rb"(?<!def )\b%s\(" % re.escape(around[0].name.encode()))
    first = ""
    for path, text in files:
        if kind_of(path) != PYTHON or not called.search(text):
            continue
        if not _CHOSEN.search(text):
            return ""
        first = first or (path if path != home else "")
    return first
