"""Environment variables whose names stand in a list that the file goes over: `for key in KEYS: os.environ[key] = ...`. What
sets them there has the old name, so the edits of their other places wait for a person."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING

from porter.python.index import Link
from porter.regex import lazy

if TYPE_CHECKING:
    from porter.python.file import Parsed

_SET_BY_NAME = lazy(rb"\benviron\[[A-Za-z_]\w*\][ \t]*=(?!=)")


def listed(file: Parsed, texts: Iterable[Link]) -> frozenset[str]:
    """`texts`: all strings of the file that are names of variables."""
    if not file.source.says(_SET_BY_NAME):
        return frozenset()
    return frozenset(link[0].value for link in texts if link[1][0].__class__ in (ast.List, ast.Tuple, ast.Set))
