"""What the functions of one file bind, call and give back, and what it keeps as learning rates and as scores."""

from __future__ import annotations

import ast
import re
from typing import NamedTuple

from porter.python.evidence import call_name, constant
from porter.python.index import FUNCTIONS, Node
from porter.python.walks import children, walk
from porter.regex import lazy

_NUMPY = lazy(rb"^[ \t]*import[ \t](?:[^\n;]*[ \t,])?numpy\b(?!\.)(?:[ \t]+as[ \t]+(\w+))?", re.MULTILINE)
SCORE_WORDS = r"best|score|acc|iou|psnr|fid|auc|metric|rank_?1|mAP|recall"
_SCORE = lazy(SCORE_WORDS)


class At(NamedTuple):
    """Where an expression stands."""

    path: str
    outer: str
    functions: tuple[Node, ...]  # the innermost last
    owner: Node  # the innermost class; None outside of classes
    in_class: bool  # in the body of a class, and in no function of it


class Bound:
    """What the functions of one file bind, call and give back."""

    def __init__(self, path: str, data: bytes, tree: ast.Module):
        self.numpy = frozenset(name.decode() or "numpy" for name in _NUMPY.findall(data))
        self.functions: dict[str, list[tuple[Node, bool]]] = {}  # by name, and whether they are methods
        # by function, or class, and name; none of what a loop, `with` and their kin bind, which hides other names
        self.bound: dict[tuple[Node, str], list[tuple[Node, At]]] = {}
        self.calls: dict[str, list[tuple[Node, At]]] = {}
        self.returned: dict[Node, list[tuple[Node, At]]] = {}
        self.rates: dict[tuple[Node, ...], list[tuple[Node, At]]] = {}  # by the function that sets them
        self.scores: list[tuple[Node, At]] = []  # what stands under keys such as `best_iou`
        self._walk(tree, At(path, "", (), None, False), frozenset())

    def _walk(self, tree: ast.Module, start: At, groups: frozenset[str]) -> None:
        todo: list[tuple[Node, At, frozenset[str]]] = [(tree, start, groups)]
        while todo:
            node, at, groups = todo.pop()
            if node.__class__ is ast.ClassDef:
                at = at._replace(outer=at.outer or node.name, owner=node, in_class=True)
            elif node.__class__ in FUNCTIONS[:2]:
                self.functions.setdefault(node.name, []).append((node, at.in_class))
                at = at._replace(outer=at.outer or node.name, functions=(*at.functions, node), in_class=False)
            elif node.__class__ is ast.For and _of_groups(node.iter):
                groups = groups | {n.id for n in ast.walk(node.target) if isinstance(n, ast.Name)}
            elif node.__class__ is ast.Return and node.value is not None and at.functions:
                self.returned.setdefault(at.functions[-1], []).append((node.value, at))
            elif node.__class__ is ast.Call:
                self._call(node, at, groups)
            elif node.__class__ is ast.Dict:
                self.scores += ((v, at) for k, v in zip(node.keys, node.values) if _is_score(k))
            elif node.__class__ in (ast.Assign, ast.AugAssign):
                for target in node.targets if node.__class__ is ast.Assign else [node.target]:
                    self._set(target, node.value, at, groups)
            elif node.__class__ is ast.Name and node.ctx.__class__ is ast.Store:
                self.bound.setdefault(_key(node.id, at), [])
            todo += [(child, at, groups) for child in reversed(children(node)) if not _is_leaf(child)]

    def _call(self, call: Node, at: At, groups: frozenset[str]) -> None:
        name = call_name(call.func)
        self.calls.setdefault(name, []).append((call, at))
        if name == "LambdaLR" and (factor := argument(call, 1, "lr_lambda")) is not None:
            self.rates[(call,)] = [(factor, at)]
        elif name == "update" and call.func.__class__ is ast.Attribute and (rate := _named(call, "lr")) is not None:
            self._set_in_group(call.func.value, rate, at, groups)

    def _set(self, target: Node, value: Node, at: At, groups: frozenset[str]) -> None:
        if target.__class__ is ast.Name:
            self.bound.setdefault(_key(target.id, at), []).append((value, at))
        elif target.__class__ is ast.Attribute and getattr(target.value, "id", "") == "self":
            self.bound.setdefault((at.owner, target.attr), []).append((value, at))
        elif target.__class__ in (ast.Tuple, ast.List) and not has_starred(target.elts):
            for index, one in enumerate(target.elts):
                part = ast.Subscript(value, ast.Constant(index), ast.Load())
                self._set(one, ast.copy_location(part, value), at, groups)
        elif target.__class__ is ast.Subscript and constant(target.slice) == "lr":
            self._set_in_group(target.value, value, at, groups)
        elif target.__class__ is ast.Subscript and _is_score(target.slice):
            self.scores.append((value, at))

    def _set_in_group(self, group: Node, rate: Node, at: At, groups: frozenset[str]) -> None:
        if getattr(group, "id", "") in groups or _of_groups(group):
            self.rates.setdefault(at.functions[-1:], []).append((rate, at))


def _is_leaf(node: Node) -> bool:
    """Half of all nodes are constants, and names that are only read."""
    return node.__class__ is ast.Constant or node.__class__ is ast.Name and node.ctx.__class__ is ast.Load


def _key(name: str, at: At) -> tuple[Node, str]:
    return (at.owner if at.in_class else at.functions[-1:], name)


def _is_score(key: Node) -> bool:
    word = constant(key)
    return isinstance(word, str) and _SCORE.search(word) is not None


def _of_groups(node: Node) -> bool:
    """`optimizer.param_groups`, whatever is made of it."""
    return any(getattr(inner, "attr", "") == "param_groups" for inner in walk(node))


def position(function: Node, name: str) -> int | None:
    """Of a parameter, among those that a call gives."""
    names = [a.arg for a in (*function.args.posonlyargs, *function.args.args)]
    if name in names:
        return names.index(name) - (names[0] in ("self", "cls"))
    return len(names) if name in {a.arg for a in function.args.kwonlyargs} else None


def argument(call: Node, index: int, name: str) -> Node | None:
    """What a call gives for a parameter; nothing for the object itself, whose position is below zero."""
    if len(call.args) > index >= 0 and not has_starred(call.args[: index + 1]):
        return call.args[index]
    return _named(call, name)


def fits(call: Node, function: Node) -> bool:
    """Whether a call gives a function as many arguments as it takes."""
    takes = function.args
    if has_starred(call.args) or any(k.arg is None for k in call.keywords):
        return True
    names = [a.arg for a in (*takes.posonlyargs, *takes.args)]
    most = len(names) - (names[:1] in (["self"], ["cls"]))
    if len(call.args) > most and takes.vararg is None:
        return False
    if takes.kwarg is None and not {*names, *(a.arg for a in takes.kwonlyargs)}.issuperset(
        k.arg for k in call.keywords
    ):
        return False
    return len(call.args) + len(call.keywords) >= most - len(takes.defaults)


def has_starred(values: list[Node]) -> bool:
    return any(value.__class__ is ast.Starred for value in values)


def _named(call: Node, name: str) -> Node | None:
    return next((k.value for k in call.keywords if k.arg == name), None)
