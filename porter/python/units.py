"""Cuts a file into the pieces that LibCST parses: a simple statement, the header of a compound one, or a decorator.

Text is put around a piece where it cannot be parsed alone. A piece knows the offset in the file of each of its LibCST nodes.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate

import libcst as cst
from libcst._nodes.internal import CodegenState

from porter.python.blocks import once, within
from porter.python.index import Link, Node
from porter.python.source import Source
from porter.python.spare_trees import SpareTrees
from porter.python.trees import fits_libcst
from porter.regex import lazy

# levels of a piece. LibCST's parser recurses without a limit; far beyond this, it crashes the process
_DEEPEST = 400
# what may stand between `case` and its pattern: blanks, brackets and comments
_OPENING = lazy(rb"(?:[ \t\f(\\\r\n]|#[^\r\n]*)*")
_COLON = lazy(rb"(?:#[^\r\n]*|[^:#])*:")  # the rest of a header behind its last expression, up to its colon


@dataclass(frozen=True, slots=True)
class Unit:
    """Where a piece is cut out."""

    start: int  # offsets into source.utf8
    end: int
    statement: Node  # the statement that the piece belongs to
    prefix: str = ""  # put around the piece, so that it can be parsed
    suffix: str = ""
    whole: bool = True  # the piece is the whole statement


def unit_of(link: Link, source: Source) -> Unit | None:
    """The piece around a node; None where it cannot be cut out."""
    child, parent = None, link
    while parent is not None:
        node = parent[0]
        if isinstance(node, (ast.stmt, ast.ExceptHandler, ast.match_case)):
            return _cut(node, child, source)
        child, parent = node, parent[1]
    return None


def _cut(node: Node, child: Node, source: Source) -> Unit | None:
    if getattr(node, "decorator_list", None) and within(node, child, "decorator_list"):
        return Unit(*source.span(child), node, whole=False)
    if _header(node) is None:
        return Unit(*source.span(node), node) if isinstance(node, ast.stmt) else None
    bounds = _bounds(node, source)
    if bounds is None:
        return None
    kind, (start, end) = node.__class__, bounds
    prefix = {ast.ExceptHandler: "try: pass\n", ast.match_case: "match _:\n "}.get(kind, "")
    if kind is ast.If and source.utf8.startswith(b"elif", start):
        start += 2
    suffix = "\n case _: pass" if kind is ast.Match else " pass"
    return Unit(start, end, node, prefix, suffix, whole=False)


@once
def _bounds(node: Node, source: Source) -> tuple[int, int] | None:
    """The offsets at which the header of a compound statement begins, and at which its colon ends."""
    start = source.offset(node.lineno, node.col_offset) if node.__class__ is not ast.match_case else _case(node, source)
    if start is None:
        return None
    header_end = max((source.offset(n.end_lineno, n.end_col_offset) for n in _header(node) or ()), default=start)
    colon = _COLON.match(source.utf8, header_end)
    return None if colon is None else (start, colon.end())


def _case(node: ast.match_case, source: Source) -> int | None:
    """The offset of the keyword `case` before a pattern. The node itself has no position."""
    pattern = source.offset(node.pattern.lineno, node.pattern.col_offset)
    offset = pattern
    while (offset := source.utf8.rfind(b"case", 0, offset)) >= 0:
        begins = source.starts[source.line(offset) - 1] + len(source.indentation(offset)) == offset
        if begins and _OPENING.fullmatch(source.utf8, offset + 4, pattern):
            return offset
    return None


@once
def _header(node: Node) -> tuple[Node, ...] | None:
    """The nodes of a compound statement before its colon; None for a simple statement."""
    kind = node.__class__
    if kind in (ast.If, ast.While):
        return (node.test,)
    if kind in (ast.For, ast.AsyncFor):
        return (node.iter,)
    if kind in (ast.With, ast.AsyncWith):
        return tuple(n for i in node.items for n in (i.context_expr, i.optional_vars) if n is not None)
    if kind in (ast.FunctionDef, ast.AsyncFunctionDef):
        a = node.args
        nodes = [*a.posonlyargs, *a.args, a.vararg, *a.kwonlyargs, a.kwarg, *a.defaults, *a.kw_defaults, node.returns]
        return tuple(n for n in [*nodes, *getattr(node, "type_params", ())] if n is not None)
    if kind is ast.ClassDef:
        return (*node.bases, *node.keywords, *getattr(node, "type_params", ()))
    if kind is ast.ExceptHandler:
        return () if node.type is None else (node.type,)
    if kind is ast.match_case:
        return (node.pattern,) if node.guard is None else (node.pattern, node.guard)
    if kind.__name__ == "Match":
        return (node.subject,)
    if kind.__name__ in ("Try", "TryStar"):
        return ()
    return None


class _Positions(CodegenState):
    """The begin and end of each node in the generated text: `outer` with the whitespace and brackets that it owns, `inner`
    without."""

    def __init__(self, module: cst.Module) -> None:
        super().__init__(default_indent=module.default_indent, default_newline=module.default_newline)
        self.position = 0
        self._nodes: list[cst.CSTNode] = []  # keeps nodes alive, and so their ids; a hash would be computed in Python
        self.outer: dict[int, tuple[int, int]] = {}
        self.inner: dict[int, tuple[int, int]] = {}
        self._stack: list[int] = []

    @classmethod
    def of(cls, module: cst.Module) -> _Positions:
        state = cls(module)
        module._codegen(state)
        return state

    def span(self, node: cst.CSTNode) -> tuple[int, int]:
        """The begin and end of a node, without the whitespace and brackets that it owns."""
        return self.inner.get(id(node)) or self.outer[id(node)]

    def add_indent_tokens(self) -> None:
        for token in self.indent_tokens:
            self.add_token(token)

    def add_token(self, value: str) -> None:
        self.tokens.append(value)
        self.position += len(value)

    def before_codegen(self, node: cst.CSTNode) -> None:
        self._stack.append(self.position)

    def after_codegen(self, node: cst.CSTNode) -> None:
        self._nodes.append(node)
        self.outer[id(node)] = (self._stack.pop(), self.position)

    def record_syntactic_position(  # type: ignore[override]  # no generator, see _Mark
        self, node: cst.CSTNode, *, start_node: cst.CSTNode | None = None, end_node: cst.CSTNode | None = None
    ) -> _Mark:
        return _Mark(self, node, start_node, end_node)


class _Mark:
    """Records the begin and end of a node's own text. LibCST uses a generator for that, which takes twice the time."""

    __slots__ = ("state", "node", "first", "last", "start")

    def __init__(
        self, state: _Positions, node: cst.CSTNode, first: cst.CSTNode | None, last: cst.CSTNode | None
    ) -> None:
        self.state, self.node, self.first, self.last = state, node, first, last

    def __enter__(self) -> None:
        self.start = self.state.position

    def __exit__(self, *error: object) -> None:
        if error[0] is not None:  # `first` and `last` may have no position yet
            return
        state = self.state
        start = self.start if self.first is None else state.span(self.first)[0]
        end = state.position if self.last is None else state.span(self.last)[1]
        state.inner[id(self.node)] = (start, end)


def positions(module: cst.Module) -> Callable[[cst.CSTNode], tuple[int, int]]:
    """A function from node to (start, end) in the module's text, in characters."""
    return _Positions.of(module).span


def _deeper(unit: Unit, limit: int) -> bool:
    """Whether LibCST's tree of the piece has more levels than `limit`. In it, each part of a chain of `and` is a level."""
    node = unit.statement
    tops = [node] if unit.whole else _header(node) or () if unit.suffix else node.decorator_list
    stack: list[tuple[Node, int]] = [(n, 0) for n in tops]
    while stack:
        node, depth = stack.pop()
        if node.__class__ is ast.BoolOp:
            depth += len(node.values)
        if depth > limit:
            return True
        stack += [(inner, depth + 1) for inner in ast.iter_child_nodes(node)]
    return False


SPARE = SpareTrees[_Positions]()  # the trees of this process


class Piece:
    """A unit with its LibCST tree. `span` is the text of a node that a reader would mark, `reach` all that the node owns."""

    def __init__(self, unit: Unit, source: Source) -> None:
        text = source.utf8[unit.start : unit.end].decode("utf-8")
        if len(text) > _DEEPEST and (_deeper(unit, _DEEPEST) or not fits_libcst(text)):
            raise RecursionError
        self.unit, self._starts = unit, None
        if not text.isascii():  # where each character begins in the file
            self._starts = list(accumulate((len(c.encode("utf-8")) for c in text), initial=unit.start))
        self.text = unit.prefix + text + unit.suffix
        self.module, known = SPARE.take(self.text) or (cst.parse_module(self.text), None)
        self._state = known or _Positions.of(self.module)
        self.exact = "".join(self._state.tokens) == self.text

    def give_back(self) -> None:
        SPARE.give_back(self.text, self.module, self._state)

    def _offset(self, index: int) -> int:
        index -= len(self.unit.prefix)
        return (
            self.unit.start + index
            if self._starts is None or index < 0
            else self._starts[min(index, len(self._starts) - 1)]
        )

    def span(self, node: cst.CSTNode) -> tuple[int, int]:
        start, end = self._state.span(node)
        return self._offset(start), self._offset(end)

    def reach(self, node: cst.CSTNode) -> tuple[int, int]:
        start, end = self._state.outer[id(node)]
        return self._offset(start), self._offset(end)

    def knows(self, node: cst.CSTNode) -> bool:
        return id(node) in self._state.outer

    def render(self, module: cst.Module) -> tuple[str, dict[int, tuple[int, int]]]:
        """The text of a rewritten tree with its prefix, and the begin and end of each node in it, by id."""
        state = _Positions.of(module)
        return "".join(state.tokens), state.outer
