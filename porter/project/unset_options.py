"""Finds options of programs that may be None where another file hands them to `cuda()`: `x.cuda(args.gpu)`.

`cuda(None)` moves a tensor to the device in use, `to(None)` leaves it where it is.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from porter.python.trees import Parse
from porter.python.unset_options import unset
from porter.python.walks import walk
from porter.regex import lazy

_GIVEN = lazy(rb"\.cuda\([ \t\n]*(?:device[ \t]*=[ \t]*)?(?:\w+\.)+(\w+)[ \t\n]*[,)]")
_DECLARES = b"add_argument("


def unset_options(texts: Mapping[str, bytes], parse: Parse) -> tuple[str, ...]:
    """The names of these options."""
    asked = {name.decode() for data in texts.values() if b".cuda(" in data for name in _GIVEN.findall(data)}
    words = {word.encode() for name in asked for word in (name, name.replace("_", "-"))}
    declaring = (data for data in texts.values() if _DECLARES in data and any(word in data for word in words))
    return tuple(sorted(asked & {name for data in declaring for name in _unset(parse(data))}))


def _unset(tree: ast.Module | None) -> Iterator[str]:
    nodes = list(walk(tree)) if tree else []
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    yield from unset(calls, [node for node in nodes if isinstance(node, ast.Assign)])
