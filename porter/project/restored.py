"""Calls of functions that read of a checkpoint what their keywords name: `restore(path, state_dict=model, optimizer=optimizer)`."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping

from porter.engine.checkpoints import Restored
from porter.python.evidence import call_name
from porter.python.walks import walk
from porter.regex import lazy

# a function that gets all other keywords, loads, and goes through them
_RESTORES = lazy(
    rb"^def[ \t]+(\w+)\([^()]*\*\*(\w+)\)[^\n]*\n(?:(?:[ \t][^\n]*)?\n){0,60}?[^\n]*\btorch\.load\([^\n]*\n"
    rb"(?:(?:[ \t][^\n]*)?\n){0,30}?[ \t]+for[ \t]+\w+[ \t]*,[ \t]*\w+[ \t]+in[ \t]+\2\.items\(",
    re.MULTILINE,
)


def restored(texts: Mapping[str, bytes], parse: Callable[[bytes], ast.Module | None]) -> tuple[Restored, ...]:
    loading = (data for data in texts.values() if b"torch.load(" in data and b".items()" in data and b"**" in data)
    names = frozenset(match[1] for data in loading for match in _RESTORES.finditer(data))
    calling = {path: data for path, data in texts.items() if any(name + b"(" in data for name in names)}
    return tuple(row for path in sorted(calling) for row in _calls(path, parse(calling[path]), names))


def _calls(path: str, tree: ast.Module | None, names: frozenset[bytes]) -> Iterator[Restored]:
    for node in walk(tree) if tree else ():
        if isinstance(node, ast.Call) and call_name(node.func).encode() in names:
            yield Restored(path, call_name(node.func), tuple(k.arg for k in node.keywords if k.arg))
