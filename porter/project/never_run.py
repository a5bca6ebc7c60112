"""Finds parts of a file that never run: branches whose condition is a constant, and methods that nothing names.

A condition is constant if it is a constant, a name that its function sets once to a constant, or a question for a torch that is
older than all that run on NPUs; so is a name of the module that only such a branch sets otherwise. A method may be named by
anything: a call, a text, settings; not by `self.save()` in a class that has no object in common with its own. Methods that a
base class from a library may call are left alone. So is a file that looks methods up by names made at run time.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator

from porter.project.meant_names import is_comment, is_private
from porter.python.blocks import once
from porter.python.evidence import call_name, constant
from porter.python.index import Node
from porter.python.walks import inside, statements, walk
from porter.regex import lazy
from porter.spans import Span, span_of

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_SCOPES = (*_DEFINITIONS, ast.ClassDef)
_PLAIN = frozenset(
    {"property", "staticmethod", "classmethod", "no_grad", "inference_mode", "enable_grad", "abstractmethod"}
)
_FIRST = (1, 8)  # the first version of torch with a torch_npu
_VERSION = lazy(r"(\d+)\.(\d+)(?:\.\d+)?(?:a\d*)?$")
# bases that call no method of a class but those in _CALLED
_BASES = frozenset({"object", "Module", "Dataset", "IterableDataset", "ABC"})
# methods that such bases may call
_CALLED = frozenset(
    """forward extra_repr train eval state_dict load_state_dict parameters named_parameters reset_parameters _apply
    _load_from_state_dict _save_to_state_dict _get_name get_extra_state set_extra_state
    set_use_memory_efficient_attention_xformers set_attention_slice""".split()  # the last two by models of diffusers
)
# `getattr(self, name)` of an object that may belong to a class of the file
_LOOKED_UP = lazy(
    rb"getattr\([ \t]*(?!(?:torch|nn|F|np|numpy|args|opts?|cfg|config|os|sys|optim|logging)\b)[\w.]+[ \t]*,[ \t]*(?![\"'])"
)


@once
def branches(tree: ast.Module) -> dict[Span, str]:
    """The lines of branches that are never taken, with the text of their condition."""
    found: dict[Span, str] = {}
    of_module: dict[str, bool] = {}
    for scope in (tree, *(node for node in statements(tree) if isinstance(node, _DEFINITIONS))):
        held = [*_of_scope(scope)]
        asked = [node for node in held if isinstance(node, ast.If)]
        names = {name for node in asked for name in _names(node.test)} if scope is not tree else set()
        known = _constants(scope, held, names) if names else {}
        if of_module and not names.isdisjoint(of_module):
            known |= {name: value for name, value in of_module.items() if name in names - set_in(scope).keys()}
        for node in asked:
            value = _value(node.test, known)
            block = _contradicted(node, known) if value is None else node.orelse if value else node.body
            if block:
                found[block[0].lineno, _span(block[-1])[1]] = ast.unparse(node.test)
        if scope is tree and found:
            of_module = _of_module(tree, held, [*found])
    return found


def _contradicted(choice: ast.If, known: dict[str, bool]) -> list[ast.stmt]:
    """The body of `elif a` below `if a and b`, where b is always true."""
    following = choice.orelse[0] if len(choice.orelse) == 1 else None
    if not (
        isinstance(following, ast.If) and isinstance(choice.test, ast.BoolOp) and isinstance(choice.test.op, ast.And)
    ):
        return []
    open_ones = [value for value in choice.test.values if _value(value, known) is not True]
    same = len(open_ones) == 1 and ast.unparse(open_ones[0]) == ast.unparse(following.test)
    return following.body if same else []


def _of_module(tree: ast.Module, inside: Iterable[ast.AST], never: list[Span]) -> dict[str, bool]:
    """The names of a module that all statements which may run set to the same of True and False."""
    set_to: dict[str, set[object]] = {}
    plain = set()
    for node in inside:
        if isinstance(node, ast.Assign) and not _is_within(node, never):
            for target in node.targets:
                set_to.setdefault(getattr(target, "id", ""), set()).add(constant(node.value))
            plain.update(node.targets)
    known = {name: bool(*values) for name, values in set_to.items() if values in ({True}, {False})}
    places = set_in(tree) if known else {}  # in a loop, by a function, by another value
    return {n: v for n, v in known.items() if all(p in plain or _is_within(p, never) for p in places.get(n, ()))}


def _is_within(node: Node, spans: list[Span]) -> bool:
    return any(first <= node.lineno <= last for first, last in spans)


def _asks_for_old(test: ast.Compare) -> bool | None:
    """Of `version.parse(torch.__version__) < version.parse("1.6")`, that it is false: torch_npu began with a later one."""
    if len(test.ops) != 1 or not isinstance(test.ops[0], (ast.Lt, ast.LtE, ast.Gt, ast.GtE)):
        return None
    sides = (test.left, test.comparators[0])
    asked = [any(map(_is_of_torch, walk(side))) for side in sides]
    if asked.count(True) != 1:
        return None
    of_torch = asked.index(True)
    version = _version_in(sides[1 - of_torch])
    asks_for_more = isinstance(test.ops[0], (ast.Gt, ast.GtE)) == (of_torch == 0)
    # the other answer is for versions up to this one, or for those before it
    counts_itself = isinstance(test.ops[0], (ast.LtE, ast.Gt)) == (of_torch == 0)
    is_old = version and (version < _FIRST if counts_itself else version <= _FIRST)
    return asks_for_more if is_old else None


def _is_of_torch(node: Node) -> bool:
    """Whether a node is torch's version: `torch.__version__`, mmcv's `TORCH_VERSION`."""
    if isinstance(node, ast.Name):
        return node.id == "TORCH_VERSION"
    return isinstance(node, ast.Attribute) and ast.unparse(node) == "torch.__version__"


def _version_in(side: ast.expr) -> tuple[int, ...]:
    """The version that one side of a comparison names: `"1.6"`, `(1, 6)`; () if it names none."""
    if isinstance(side, (ast.Tuple, ast.List)):
        numbers = [constant(part) for part in side.elts]
        return tuple(n for n in numbers if isinstance(n, int))[:2]
    texts = (text for node in walk(side) if isinstance(text := constant(node), str))
    match = next(filter(None, map(_VERSION.match, texts)), None)
    return (int(match[1]), int(match[2])) if match else ()


def _of_scope(scope: ast.AST) -> Iterator[ast.AST]:
    """The statements of a function, without those of functions and classes in it."""
    stack = inside(scope)
    while stack:
        node = stack.pop()
        yield node
        if not isinstance(node, _SCOPES):
            stack += inside(node)


def _names(test: ast.expr) -> Iterator[str]:
    """The names by which alone a condition may be decided."""
    if isinstance(test, ast.Name):
        yield test.id
    elif isinstance(test, ast.UnaryOp):
        yield from _names(test.operand)
    elif isinstance(test, ast.BoolOp):
        for value in test.values:
            yield from _names(value)


def _constants(scope: ast.AST, inside: Iterable[ast.AST], names: set[str]) -> dict[str, bool]:
    """Those of some names that a function sets once, at its top, to True or False."""
    known = {}
    for node in inside:
        if isinstance(node, ast.Assign) and isinstance(constant(node.value), bool) and len(node.targets) == 1:
            target = node.targets[0]
            if isinstance(target, ast.Name) and target.id in names:
                known[target.id] = target, bool(constant(node.value))
    set_here = set_in(scope) if known else {}
    return {name: value for name, (target, value) in known.items() if set_here[name] == [target]}


@once
def set_in(scope: ast.AST) -> dict[str, list[Node]]:
    """Where a function, or one inside of it, sets its names."""
    set_here: dict[str, list[Node]] = {}
    for node in walk(scope):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            set_here.setdefault(node.id, []).append(node)
        elif isinstance(node, ast.arg):
            set_here.setdefault(node.arg, []).append(node)
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            for name in node.names:
                set_here.setdefault(name, []).append(node)
        elif isinstance(node, (ast.MatchAs, ast.MatchStar)) and node.name:
            set_here.setdefault(node.name, []).append(node)
    return set_here


def _value(test: ast.expr, known: dict[str, bool]) -> bool | None:
    """The constant value of a condition; None where it has none."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        value = _value(test.operand, known)
        return None if value is None else not value
    if isinstance(test, ast.BoolOp):
        values = [_value(value, known) for value in test.values]
        decides = isinstance(test.op, ast.Or)  # True decides an `or`, False an `and`
        return decides if decides in values else None
    if isinstance(test, ast.Name):
        return known.get(test.id)
    if isinstance(test, ast.Compare):
        return _asks_for_old(test)
    return bool(test.value) if isinstance(test, ast.Constant) else None


class Methods:
    """The methods of a file. `is_own`: whether a module belongs to the project. `says`: whether another file names a method of
    a class. `is_of_others`: whether a name of this file certainly means none of this class.
    `skipped`: whether a line is known already as one that never runs. `is_open`: others may call all that is not private.
    `of_library`: whether a class may be derived from one of a library, by way of classes of other files."""

    def __init__(
        self,
        tree: ast.Module,
        text: bytes,
        is_own: Callable[[str], bool],
        says: Callable[[str, str], bool],
        is_of_others: Callable[[str, bytes, int], bool],
        skipped: Callable[[int], bool] = lambda line: False,
        is_open: bool = False,
        of_library: Callable[[str], bool] = lambda owner: False,
    ) -> None:
        self._text, self._says, self._is_of_others, self._skipped = text, says, is_of_others, skipped
        owners = [] if _LOOKED_UP.search(text) else [node for node in tree.body if isinstance(node, ast.ClassDef)]
        own = {name for node in tree.body for name in _imported(node, is_own)} | {owner.name for owner in owners}
        self._spans = {
            _span(method): (owner.name, method.name)
            for owner in owners
            if all(call_name(base) in own | _BASES for base in owner.bases) and not owner.keywords
            for method in owner.body
            if isinstance(method, _DEFINITIONS) and _may_be_idle(method) and (not is_open or is_private(method.name))
        }
        self._sorted = sorted(self._spans)
        self._derived = {owner.name for owner in owners if not all(call_name(base) in _BASES for base in owner.bases)}
        self._of_library = of_library
        self._known: dict[tuple[str, str], bool] = {}

    def idle(self, line: int) -> str:
        """The method around a line that nothing names: `Net.shown`; "" for none."""
        span = span_of(line, self._sorted)
        if span is None or not self._is_idle(self._spans[span]):
            return ""
        return ".".join(self._spans[span])

    def _is_idle(self, method: tuple[str, str]) -> bool:
        """Whether only idle methods name this one, of this class."""
        if method not in self._known:
            self._known[method] = True  # assumed while we look: methods that only name each other are idle together
            named = not all(map(self._is_in_idle, self._lines(*method))) or self._says(*method)
            if named or method[0] in self._derived and self._of_library(method[0]):  # all files are searched for that
                # the assumption was wrong: all that may be derived from it is asked again
                self._known = {other: False for other, is_idle in self._known.items() if not is_idle} | {method: False}
        return self._known.get(method, False)

    def _lines(self, owner: str, name: str) -> Iterator[int]:
        """The lines with a name, outside of its definitions and of comments, where it may mean a method of this class."""
        word = re.escape(name.encode())
        for match in re.finditer(rb"%s\b(?<=\b%s)" % (word, word), self._text):
            before = self._text[self._text.rfind(b"\n", 0, match.start()) + 1 : match.start()]
            if before.rstrip().endswith(b"def") or is_comment(self._text, match.start()):
                continue
            if not self._is_of_others(owner, self._text, match.start()):
                yield self._text.count(b"\n", 0, match.start()) + 1

    def _is_in_idle(self, line: int) -> bool:
        span = span_of(line, self._sorted)
        return self._skipped(line) or span is not None and self._is_idle(self._spans[span])


def _span(node: ast.stmt) -> Span:
    return node.lineno, node.end_lineno or node.lineno


def _imported(node: ast.stmt, is_own: Callable[[str], bool]) -> Iterator[str]:
    """The names that a statement imports from modules of the project."""
    if isinstance(node, ast.ImportFrom) and (node.level or is_own(node.module or "")):
        yield from (alias.asname or alias.name for alias in node.names)


def _may_be_idle(method: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    marks = (call_name(getattr(mark, "func", mark)) for mark in method.decorator_list)
    return not method.name.startswith("__") and method.name not in _CALLED and all(mark in _PLAIN for mark in marks)
