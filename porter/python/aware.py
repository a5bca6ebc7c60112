"""Finds code that already handles NPUs, so that porter leaves it alone.

A ladder is a chain of branches for several devices: `if cuda ... elif npu ...`. A rename of "cuda" would destroy it.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

from porter.python.answered import answered
from porter.python.foreign import imported, patches
from porter.python.heads import heads
from porter.python.index import Link, Node, ancestors, on_lines, walk
from porter.python.ladders import choices, for_each, ladder, renamed_gpus
from porter.python.searches import Sought, lines_with
from porter.python.walks import children
from porter.regex import lazy

if TYPE_CHECKING:
    from porter.python.file import File

# names and strings that mean an NPU
_NPU = lazy(r"(?i)(?:^|[._])(?:npu|torch_npu|hccl|ascend)(?:$|[._:])|_npu_|npu_avail|is_npu|use_npu|has_npu")
# the same for other accelerators: in a project that runs on NPUs, a ladder for them chooses among devices as well
_OTHERS = lazy(
    _NPU.pattern + r"|(?i:(?:^|[._])(?:xpu|mlu|hpu|musa|sdaa)(?:$|[._:])|is_(?:xpu|mlu|hpu|musa|sdaa|cuda)_avail)"
)
# how a string begins that names such a device
_TEXTS, _OTHER_TEXTS = ("npu", "hccl"), ("npu", "hccl", "xpu", "mlu", "hpu", "musa", "sdaa")
_CUDA = lazy(r"(?i)cuda|nccl|gpu")
# questions for the device that a machine has; a name that is only imported asks nothing
_ASKS = lazy(
    rb"is_(?:torch_)?npu_(?:is_)?available(?![ \t]*(?:,|\)?[ \t]*(?:#[^\n]*)?(?:\r?\n|$)))"
    rb"|get_accelerator\(\)|torch\.accelerator\.|device_module\s*=\s*getattr\(torch\b"
)
_ASKS_ONE_OF = (b"npu_", b"accelerator", b"device_module")  # every match of _ASKS has one of them: edit both
_LOOKED_UP = lazy(rb"getattr\(\s*torch\s*,\s*(?![\"'\s])")  # the name of the module is only known at run time
# searches in lower-case text for lines that may match _NPU; patterns that begin with plain letters are twenty times as fast
_BYTES = tuple(map(Sought, (r"npu(?:\b|_|(?<![a-z0-9]npu))", "hccl", "ascend")))
_OTHER_BYTES = tuple(map(Sought, ("xpu", "mlu", "hpu", "musa", "sdaa", "cuda_avail")))  # the same for _OTHERS


def _as_npu(text: bytes) -> tuple[bytes, bytes]:
    """A text about CUDA as it would be written for NPUs: with and without the names in capitals, as of `CUDA = ("cuda", "GPU")`."""
    small = text.replace(b"cuda", b"npu").replace(b"nccl", b"hccl")
    return small, small.replace(b"CUDA", b"NPU").replace(b"GPU", b"NPU").replace(b"NCCL", b"HCCL")


def _words(node: Node) -> Iterator[str]:
    """The names and short strings in a tree."""
    for inner in walk(node):
        kind = inner.__class__
        if kind is ast.Name:
            yield inner.id
        elif kind is ast.Attribute:
            yield inner.attr
        elif kind is ast.Constant and isinstance(inner.value, str) and len(inner.value) < 30:
            yield inner.value


def _mentions(node: Node, pattern: re.Pattern[str]) -> bool:
    return any(pattern.search(word) for word in _words(node))


def _leaves(body: list[ast.stmt]) -> bool:
    return isinstance(body[-1], (ast.Return, ast.Raise, ast.Continue, ast.Break))


class Awareness:
    """The ranges of a file, as offsets, in which CUDA code stands beside code that does the same for NPUs."""

    def __init__(self, file: File) -> None:
        known = file.facts.accelerators
        self.source, self._project = file.source, known.also_npu(file.path)
        self._among = file.path in known.rivals  # there is a file for each accelerator, so NPUs need one of their own
        self._ladders = False
        self._offered: set[str] = set()  # attributes of options that offer CUDA and NPUs
        patched, is_shim = patches(file.source)
        self.ranges = [*imported(file), *patched, *heads(file.source), *answered(file)]
        # the style that ports by transfer_to_npu says of each place what is left to do
        shimmed = (file.path in known.shims or file.path in known.under_shims) and not file.target.shims
        self.whole = is_shim or shimmed or file.path in known.npu_twins
        self._devices, sought = _NPU, _BYTES
        self._texts: tuple[str, ...] = _TEXTS
        if self._project:
            self._devices, self._texts, sought = _OTHERS, _OTHER_TEXTS, _BYTES + _OTHER_BYTES
        if not self.whole and (lines := lines_with(file.source, *sought, lowered=True)):
            self._lines = lines
            self._find(file.tree)
            for link in file.buckets[ast.Attribute] if self._offered else ():
                if link[0].attr in self._offered:
                    self._chosen(link)
        if self._ladders and b"gpu" in self.source.utf8:
            self.ranges += map(self.source.span, renamed_gpus(file.tree))
        if _LOOKED_UP.search(file.source.utf8):
            self._looked_up(file)
        self._starts: list[int] = []  # of the ranges
        self._reach: list[int] = []  # the largest end of all ranges up to this one
        for start, end in sorted(self.ranges):
            self._starts.append(start)
            self._reach.append(max([end, *self._reach[-1:]]))

    @cached_property
    def partly(self) -> bool:
        """Whether the file or the project already chooses between devices. porter never writes such a choice itself, so a
        file that porter has ported in part does not count."""
        if self._project or self._among or self._ladders:
            return True
        among = self.source.vocabulary
        return any(word in among for word in _ASKS_ONE_OF) and _ASKS.search(self.source.utf8) is not None

    def covers(self, offset: int) -> bool:
        """Whether the code at this offset handles NPUs already."""
        index = bisect_right(self._starts, offset)
        return self.whole or index > 0 and offset < self._reach[index - 1]

    def covers_link(self, link: Link) -> bool:
        if not self.ranges and not self.whole:
            return False
        node = link[0]
        while not hasattr(node, "lineno"):
            link = link[1]
            node = link[0]
        return self.covers(self.source.offset(node.lineno, node.col_offset))

    def _looked_up(self, file: File) -> None:
        """Adds the default of `getattr(torch, device_type, torch.cuda)`: it is only a fallback."""
        for link in file.buckets[ast.Call]:
            call = link[0]
            if (
                getattr(call.func, "id", "") == "getattr"
                and len(call.args) == 3
                and call.args[1].__class__ is not ast.Constant
            ):
                if file.names.resolve(call.args[0], link) == "torch":
                    self.ranges.append(self.source.span(call.args[2]))

    def _find(self, node: Node) -> None:
        """Looks at all blocks of statements below a node that have a line about an NPU."""
        for field in ("body", "orelse", "finalbody", "handlers", "cases"):
            block: Any = getattr(node, field, None)
            if block.__class__ is not list:
                continue
            if block and isinstance(block[0], ast.stmt):
                self._block(block, elif_of=node if field == "orelse" and node.__class__ is ast.If else None)
            elif field == "cases":
                self._match(node)
            for inner in block:
                if (hasattr(inner, "body") or hasattr(inner, "cases")) and on_lines(inner, self._lines):
                    self._find(inner)

    def _block(self, block: list[ast.stmt], elif_of: ast.If | None) -> None:
        """Adds the ranges of one block. `elif_of`: the `if` whose `else` the block is; an `elif` belongs to its ladder."""
        branches: list[tuple[ast.expr | None, list[ast.stmt]]] = []
        self._twins(block)
        statement: Node
        for position, statement in enumerate(block):
            near = on_lines(statement, self._lines)
            if near and statement.__class__ is ast.If:
                self._replaced(block, position)
            if statement.__class__ is ast.If and not (elif_of and len(block) == 1):
                steps = list(ladder(statement))
                closed = all(_leaves(body) for test, body in steps if test is not None)
                if not closed or steps[-1][0] is None:
                    if branches and not closed:  # it is none of theirs
                        self._ladder(branches)
                    self._ladder([*branches, *steps] if branches and closed else steps)
                    branches = []
                else:  # `if a: return x`, followed by the next `if`: that is a ladder, too
                    branches += steps
            else:
                if branches:
                    self._ladder([*branches, (None, [statement])] if isinstance(statement, ast.Return) else branches)
                    branches = []
                if near:
                    self._statement(statement)
                    if isinstance(statement, ast.Try):
                        self._without(statement)
        if branches:
            self._ladder(branches)

    def _twins(self, block: list[ast.stmt]) -> None:
        """Adds a statement about CUDA if the block has the same statement about NPUs: `a.is_cuda = ...` and `a.is_npu = ...`,
        `if x == "cuda":` and `if x == "npu":`, `CUDA = ("cuda", "nccl")` and `NPU = ("npu", "hccl")`; or the same name for
        NPUs: `is_cuda_available = ...` and `is_npu_available = ...`."""
        self.ranges += map(self.source.span, for_each(block))
        near = [s for s in block if on_lines(s, self._lines)]
        known = {self._text(s) for s in near} | {_bound(s).encode() for s in near if _bound(s)}
        for statement in block if known else ():
            texts = self._text(statement), _bound(statement).encode()
            if any(twin in known for text in texts for twin in _as_npu(text) if twin != text):
                self.ranges.append(self.source.span(statement))

    def _chosen(self, link: Link) -> None:
        """Adds code about the value cuda of an option that also offers npu: `if args.device == "cuda":` with its branch."""
        child = link[0]
        for above in ancestors(link):
            node = above[0]
            if isinstance(node, ast.stmt):
                if isinstance(node, ast.If) and child is node.test and _mentions(child, _CUDA):
                    self.ranges += [self.source.span(part) for part in (node.test, *node.body)]
                elif isinstance(node, ast.Assign) and child in node.targets:
                    self.ranges.append(self.source.span(node))
                return
            child = node

    def _without(self, statement: ast.Try) -> None:
        """Adds the handlers of `try: import torch_npu`: they run without NPUs."""
        imports = (node for node in statement.body if isinstance(node, (ast.Import, ast.ImportFrom)))
        modules = (name for node in imports for name in (getattr(node, "module", None), *(a.name for a in node.names)))
        if any((name or "").partition(".")[0] == "torch_npu" for name in modules):
            self.ranges += [self.source.span(inner) for handler in statement.handlers for inner in handler.body]

    def _replaced(self, block: list[ast.stmt], position: int) -> None:
        """Adds `kind = torch.cuda.amp`, if an `if npu: kind = torch.npu.amp` follows that replaces the value; and the answer that
        an `if has_cuda or has_npu:` asks for."""
        choice: Any = block[position]
        if not _mentions(choice.test, self._devices):
            return
        names = set() if choice.orelse else {_bound(inner) for inner in choice.body} - {""}
        if choice.test.__class__ is ast.BoolOp:  # `has_cuda or npu_available()`
            names |= {part.id for part in choice.test.values if part.__class__ is ast.Name and _CUDA.search(part.id)}
        for statement in reversed(block[:position]):
            if (name := _bound(statement)) in names:
                names.discard(name)
                if _mentions(statement, _CUDA):
                    self.ranges.append(self.source.span(statement))

    def _text(self, statement: ast.stmt) -> bytes:
        """The text of a simple statement, or of the condition of an `if`."""
        node = statement.test if isinstance(statement, ast.If) else statement
        start, end = self.source.span(node)
        return b"" if hasattr(node, "body") else self.source.utf8[start:end]

    def _ladder(self, branches: list[tuple[ast.expr | None, list[ast.stmt]]]) -> None:
        """Adds the branches about CUDA of a ladder that has a branch for NPUs."""
        npu = [test is not None and _mentions(test, self._devices) for test, _ in branches]
        if not any(npu):
            return
        for known, (test, body) in zip(npu, branches):
            if known and not (test is not None and _mentions(test, _CUDA)):
                continue
            parts = [*([] if test is None else [test]), *body]
            if any(_mentions(part, _CUDA) for part in parts):
                self.ranges += [self.source.span(part) for part in parts]
                self._ladders = True

    def _match(self, node: Node) -> None:
        self._ladder([(case.pattern, case.body) for case in node.cases])

    def _statement(self, statement: ast.stmt) -> None:
        """Adds expressions that name CUDA and NPUs: `x in ("cuda", "npu")`, `{"cuda": ..., "npu": ...}`, `a if npu else b`."""
        if getattr(statement, "body", None).__class__ is list:
            return
        for node in walk(statement):
            if node.__class__ in (ast.Tuple, ast.List, ast.Set, ast.Dict, ast.Compare, ast.BoolOp):
                parts: list[Node] = children(node)
                texts = [p.value for p in parts if p.__class__ is ast.Constant and isinstance(p.value, str)]
                pair = any(t.startswith(self._texts) for t in texts) and any(
                    t.startswith(("cuda", "nccl")) for t in texts
                )
                if pair and (option := _option(statement, node)):
                    self._offered.add(option)
                    self.ranges.append(self.source.span(statement))
                if pair or node.__class__ is ast.BoolOp and any(_mentions(p, self._devices) for p in parts):
                    if _mentions(node, _CUDA):
                        self.ranges.append(self.source.span(node))
            elif node.__class__ is ast.IfExp and node.orelse.__class__ is not ast.Constant:
                parts_of = list(choices(node))
                if any(_mentions(t, self._devices) for t, _ in parts_of if t is not None):
                    if any(_mentions(v, _CUDA) for t, v in parts_of if t is None or not _mentions(t, self._devices)):
                        self.ranges.append(self.source.span(node))


def _option(statement: ast.stmt, choices: Node) -> str:
    """The attribute of the option that `add_argument(..., choices=choices)` adds; "" where the statement is no such call."""
    call = getattr(statement, "value", None)
    if not isinstance(call, ast.Call) or not any(k.arg == "choices" and k.value is choices for k in call.keywords):
        return ""
    dest = next((k.value for k in call.keywords if k.arg == "dest"), None)
    names = [a.value for a in (dest, *reversed(call.args)) if isinstance(a, ast.Constant) and isinstance(a.value, str)]
    return names[0].lstrip("-").replace("-", "_") if names else ""


def _bound(statement: ast.stmt) -> str:
    """The name that an assignment binds, if it binds only one; else ""."""
    targets = statement.targets if isinstance(statement, ast.Assign) else ()
    return targets[0].id if len(targets) == 1 and isinstance(targets[0], ast.Name) else ""
