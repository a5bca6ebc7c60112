"""`x.device.type == "cuda"` becomes a question for both words, which is right whoever answers. The style `shim` alone asks for it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any, cast

from porter.finding import Change
from porter.python.assigned import values_of
from porter.python.evidence import call_name
from porter.python.index import Link, Node, parents
from porter.regex import lazy

if TYPE_CHECKING:
    from porter.python.file import File

_EQUAL = lazy(rb"==|!=")


def is_compared(link: Link | None, name: str = "") -> bool:
    """Whether a call, or a chain of so many words, is one side of a comparison."""
    for _ in range(name.count(".")):
        if link is None or link[1] is None or link[1][0].__class__ is not ast.Attribute:
            break
        link = link[1]
    while link is not None and link[1] is not None and link[1][0].__class__ in (ast.Tuple, ast.List, ast.Set):
        link = link[1]
    return link is not None and link[1] is not None and link[1][0].__class__ is ast.Compare


def both_sides(link: Link, old: str, new: str, file: File) -> tuple[Change, ...]:
    """The edits that make a string, and what holds it against something, stand for both; none where that is no plain text."""
    node: Node = link[0]
    above: Node = link[1][0] if link[1] is not None else None
    start, end = file.source.span(node)
    if above.__class__ in (ast.Tuple, ast.List, ast.Set):
        return (Change(start, end, f"{old}, {new}".encode()),) if _is_one_of(link) else ()
    if above.__class__ is ast.MatchValue:
        return (Change(start, end, f"{old} | {new}".encode()),)
    if above.__class__ is ast.Call:
        called = getattr(above.func, "attr", "")
        plain = called == "startswith" and len(above.args) == 1
        return (Change(start, end, f"({old}, {new})".encode()),) if plain else ()
    if above.__class__ is not ast.Compare or len(above.ops) != 1:
        return ()
    if any(map(_is_cut, (above.left, *above.comparators))):
        return ()
    if above.ops[0].__class__ in (ast.In, ast.NotIn) and above.left is node:
        return _in_a_text(above, old, new, file)
    if above.comparators[0] is not node or above.ops[0].__class__ not in (ast.Eq, ast.NotEq):
        return ()
    gap = file.source.span(above.left)[1]
    signs = [*_EQUAL.finditer(file.source.utf8, gap, start)]
    if len(signs) != 1 or b"#" in file.source.utf8[gap:start]:
        return ()
    word = b"in" if signs[0][0] == b"==" else b"not in"
    pad = [b"" if file.source.utf8[at : at + 1].isspace() else b" " for at in (signs[0].start() - 1, signs[0].end())]
    return Change(*signs[0].span(), pad[0] + word + pad[1]), Change(start, end, f"({old}, {new})".encode())


def _is_one_of(link: Link) -> bool:
    """Whether a string is one of those that `in` asks for: `x in ("cuda", "cpu")`. `(x, n) == ("cuda", 1)` asks for all parts."""
    listed, above = link[1][0], link[1][1][0]
    return (
        above.__class__ is ast.Compare
        and len(above.ops) == 1
        and above.ops[0].__class__ in (ast.In, ast.NotIn)
        and above.comparators[0] is listed
    )


def _in_a_text(compare: ast.Compare, old: str, new: str, file: File) -> tuple[Change, ...]:
    """`"cuda" in str(x.device)`"""
    start, end = file.source.span(compare)
    text = file.source.utf8[slice(*file.source.span(compare.comparators[0]))].decode()
    if any(sign in text for sign in "\n#"):
        return ()
    word, joint = ("in", "or") if isinstance(compare.ops[0], ast.In) else ("not in", "and")
    return (Change(start, end, f"({old} {word} {text} {joint} {new} {word} {text})".encode()),)


def is_torchs(literal: Any, file: File) -> bool:
    """Whether a string is held against what torch answers, and not against what the program itself holds."""
    child, above = literal.link, literal.link[1]
    while above is not None and above[0].__class__ in (ast.Tuple, ast.List, ast.Set):
        child, above = above, above[1]
    node: Node = above[0] if above is not None else None
    if node.__class__ is ast.Compare:
        others = [side for side in (node.left, *node.comparators) if side is not child[0]]
    elif node.__class__ is ast.Dict:
        others = _keys_asked(above, file)
    elif node.__class__ is ast.Call and node.func.__class__ is ast.Attribute:  # x.startswith("cuda")
        others = [node.func.value]
    else:
        match = next((node for node in parents(literal.link) if node.__class__ is ast.Match), None)
        others = [match.subject] if match is not None else []
    return any(_answers(side, (literal.kind, literal.link), file) for side in others)


def is_key(link: Link) -> bool:
    """Whether a string is a key of a dictionary."""
    return link[1] is not None and link[1][0].__class__ is ast.Dict and link[0] in link[1][0].keys


def _keys_asked(table: Link, file: File) -> list[Node]:
    """What a dictionary is asked for, where it stands or by the name that it is given."""
    above: Link = table[1]
    targets = above[0].targets if above[0].__class__ is ast.Assign else []
    names = [target for target in targets if isinstance(target, ast.Name)]
    uses: list[Link] = [table, *(use for name in names for use in file.names.readers(name.id, (name, above)))]
    asked: list[Node] = []
    for use in uses:
        around: Node = use[1][0]
        if around.__class__ is ast.Subscript and around.value is use[0]:
            asked.append(around.slice)
        elif getattr(around, "attr", "") == "get" and use[1][1][0].__class__ is ast.Call:
            asked += use[1][1][0].args[:1]
    return asked


def _is_cut(side: Node) -> bool:
    """`str(device)[:4]`, which never is as long as the other word."""
    return side.__class__ is ast.Subscript and side.slice.__class__ is ast.Slice


def _answers(side: Node, about: tuple[str, Link], file: File, depth: int = 0) -> bool:
    """`x.device.type`, `str(x.device)`, `x.type()`, `dist.get_backend()`, and names that hold one of these."""
    kind, link = about
    node: Node
    for node in ast.walk(side):
        word = getattr(node, "attr", "")
        if kind == "device" and word == "type" and _is_made(node.value, link, file):
            return False
        if kind == "device" and word == "type" or call_name(getattr(node, "func", node)) == "get_backend":
            return True
        if kind == "device" and node.__class__ is ast.Call and getattr(node.func, "id", "") == "str":
            return any(getattr(inner, "attr", "") == "device" for inner in ast.walk(node))
        if kind == "device" and word.endswith("_type") and getattr(node.value, "id", "") in ("self", "cls"):
            return True
        if isinstance(node, ast.Name) and depth < 2:
            values = [value for value in values_of(cast("Any", file.names), node, link) if value is not side]
            if any(_answers(value, about, file, depth + 1) for value in values):
                return True
            if kind == "device" and node.id.endswith("device_type") and _is_parameter(node.id, link):
                return True
    return False


def _is_made(node: Node, link: Link, file: File) -> bool:
    """A name that holds nothing but devices that the program made: they go on saying what it called them."""
    if not isinstance(node, ast.Name):
        return False
    values = values_of(cast("Any", file.names), node, link)
    calls = [inner for value in values for inner in _choices(value)]
    return bool(calls) and all(isinstance(call, ast.Call) and call_name(call.func) == "device" for call in calls)


def other_device(call: Link, file: File) -> str:
    """What a `torch.device(...)` is compared with: "made" where the program made that itself, "given" for a parameter, which may
    be a tensor's device; "" for anything else."""
    above: Node = call[1][0] if call[1] is not None else None
    sides = (above.left, *above.comparators) if above.__class__ is ast.Compare else ()
    others = [side for side in sides if side is not call[0]]
    if others and all(_is_made(side, call, file) for side in others):
        return "made"
    names = [side.id for side in others if isinstance(side, ast.Name)]
    is_given = names and len(names) == len(others) and all(_is_parameter(name, call) for name in names)
    known = any(values_of(cast("Any", file.names), side, call) for side in others if isinstance(side, ast.Name))
    return "given" if is_given and not known else ""


def _choices(value: ast.expr) -> list[ast.expr]:
    return [*_choices(value.body), *_choices(value.orelse)] if isinstance(value, ast.IfExp) else [value]


def _is_parameter(name: str, link: Link) -> bool:
    for above in parents(link):
        arguments: Node = getattr(above, "args", None)
        if arguments.__class__ is ast.arguments:
            return any(a.arg == name for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs))
    return False
