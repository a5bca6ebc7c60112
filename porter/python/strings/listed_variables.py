"""Environment variables whose names stand in a list that the file goes over: `for key in KEYS: os.environ[key] = ...`. What
sets them there has the old name, so that an edit of another place would be half of one: what is read there would be no more what
is set here."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING

from porter.python.index import Link
from porter.regex import rare

if TYPE_CHECKING:
    from porter.python.file import Parsed

_SET_BY_NAME = rare(rb"\benviron\[[A-Za-z_]\w*\][ \t]*=(?!=)")


def listed(file: Parsed, texts: Iterable[Link]) -> dict[str, int]:
    """The line of the list, by the names in it. `texts`: all strings of the file that are names of variables."""
    if not file.source.says(_SET_BY_NAME):
        return {}
    in_lists = (link[0] for link in texts if link[1][0].__class__ in (ast.List, ast.Tuple, ast.Set))
    return {name.value: name.lineno for name in in_lists}
