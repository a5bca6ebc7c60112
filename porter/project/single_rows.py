"""Functions that every call in the project asks for the first row alone: `accuracy(output, target, topk=(1,))`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping

from porter.python.evidence import call_name
from porter.python.trees import Parse
from porter.python.walks import statements, walk
from porter.regex import lazy

_TURNED = lazy(rb"\.t\(\)")
_LARGEST = lazy(rb"=[ \t]*max\(\w+\)")  # maxk = max(topk)
_NAMED = rb"\b(?:%s)\b[ \t]*(?:\(|as\b)"
_HANDED = rb"partial\(\s*(?:\w+\.)*(?:%s)\b"  # what that gives is called by another name


def single_rows(sources: Mapping[str, bytes], parse: Parse) -> tuple[str, ...]:
    """ "path:function" of functions that take `max(topk)` of a parameter, where all calls that there are give it `(1,)`."""
    turned = (
        p for p, data in sorted(sources.items()) if b"topk" in data and _TURNED.search(data) and _LARGEST.search(data)
    )
    found = {(path, made.name): place for path in turned for made, place in _takers(parse(sources[path]))}
    if not found:
        return ()
    names = {name for _, name in found}
    saying = [data for _, data in sorted(sources.items()) if any(name.encode() in data for name in names)]
    any_of = b"|".join(sorted(re.escape(name.encode()) for name in names))
    if any(map(re.compile(_HANDED % any_of).search, saying)):
        return ()
    callers = filter(re.compile(_NAMED % any_of).search, saying)
    calls = [node for data in callers for node in _calls_or_aliases(parse(data), names)]
    return tuple(f"{path}:{name}" for (path, name), place in found.items() if _all_single(calls, name, *place))


def _takers(tree: ast.Module | None) -> Iterator[tuple[ast.FunctionDef, tuple[int, str, bool]]]:
    """Functions with the place and name of the parameter, and whether they ask for one row where it is not given."""
    for node in statements(tree) if tree else ():
        if isinstance(node, ast.FunctionDef):
            parameters = [a.arg for a in (*node.args.posonlyargs, *node.args.args)]
            parameters = parameters[parameters[:1] in (["self"], ["cls"]) :]  # which no call of a method gives
            largest = {_largest_of(inner) for inner in walk(node)} & {*parameters}
            if len(largest) == 1:
                (name,) = largest
                index = parameters.index(name)
                default = index - len(parameters) + len(node.args.defaults)
                is_single = default >= 0 and _is_single(node.args.defaults[default])
                yield node, (index, name, is_single)


def _largest_of(node: ast.AST) -> str:
    """`topk` of `max(topk)`"""
    if not isinstance(node, ast.Call) or call_name(node.func) != "max" or len(node.args) != 1:
        return ""
    return getattr(node.args[0], "id", "")


def _calls_or_aliases(tree: ast.Module | None, names: set[str]) -> Iterator[ast.Call | ast.alias | None]:
    """Calls of these names, and imports under another name. None: a file that cannot be read may hold any."""
    if tree is None:
        yield None
    for node in walk(tree) if tree else ():
        if (
            isinstance(node, ast.Call)
            and call_name(node.func) in names
            or isinstance(node, ast.alias)
            and node.name in names
        ):
            yield node


def _all_single(
    calls: list[ast.Call | ast.alias | None], name: str, index: int, parameter: str, is_single: bool
) -> bool:
    own = [c for c in calls if isinstance(c, ast.Call) and call_name(c.func) == name]
    if any(c is None or isinstance(c, ast.alias) and c.name == name and c.asname not in (None, name) for c in calls):
        return False
    return bool(own) and all(_gives_single(call, index, parameter, is_single) for call in own)


def _gives_single(call: ast.Call, index: int, parameter: str, is_single: bool) -> bool:
    if any(isinstance(a, ast.Starred) for a in call.args) or any(k.arg is None for k in call.keywords):
        return False
    given = call.args[index] if len(call.args) > index else None
    given = next((k.value for k in call.keywords if k.arg == parameter), given)
    return is_single if given is None else _is_single(given)


def _is_single(node: ast.expr) -> bool:
    """`(1,)`, `[1]`"""
    return isinstance(node, (ast.Tuple, ast.List)) and [getattr(e, "value", None) for e in node.elts] == [1]
