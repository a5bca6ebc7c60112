"""Finds functions that no NPU enters: all that names them stands behind a question for CUDA that stays as it is, or in a function
that compiles CUDA sources.

`if impl == "cuda" and x.device.type == "cuda": return _blur_cuda(x)` keeps its "cuda", because it chooses a CUDA kernel. So the
body of `_blur_cuda` never runs on an NPU. So it is with `if _can_use_kernel(x): ...`, where that function says no to an NPU.
Only names with an underscore count, as other files may use the rest.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from porter.python import branches
from porter.python.blocks import BODIES, once_for_file, place
from porter.python.evidence import constant
from porter.python.index import FUNCTIONS, Link, Node, ancestors, walk
from porter.spans import Span, span_of

if TYPE_CHECKING:
    from porter.python.file import File

_LEAVES = (ast.Return, ast.Raise, ast.Continue, ast.Break)
_COMPILE = ("torch.utils.cpp_extension.load", "torch.utils.cpp_extension.load_inline")
_FOR_CUDA = (b"TORCH_CUDA_ARCH_LIST", b"nvcc", b'.cu"', b".cu'")
_DEFINITIONS = (*FUNCTIONS[:2], ast.ClassDef)


@once_for_file
def behind_cuda(file: File) -> tuple[Span, ...]:
    """The lines of such functions and classes, sorted."""
    private = [node for node in file.tree.body if isinstance(node, _DEFINITIONS) and node.name.startswith("_")]
    if not private or not (file.source.says(b"cuda") and file.source.says(b"def _")):
        return ()
    guarded = _guarded(file)
    guarded |= _after_answers(file, guarded) if guarded else set()
    guarded |= _compiling(file)
    if not guarded:
        return ()
    uses: dict[str, list[int]] = {node.name: [] for node in private}
    for node in walk(file.tree):
        if node.__class__ is ast.Name and node.id in uses:
            uses[node.id].append(node.lineno)
    spans = {node: _span(node) for node in private}
    left = [node for node in private if uses[node.name]]
    while True:  # those that only name each other are together behind a question, or not
        known = sorted({*guarded, *(spans[node] for node in left)})
        kept = [node for node in left if all(_is_in(line, known) for line in uses[node.name])]
        if len(kept) == len(left):
            break
        left = kept
    return tuple(sorted(spans[node] for node in left if _is_entered(spans[node], uses[node.name])))


def is_behind(file: File, line: int) -> bool:
    spans = behind_cuda(file)
    return bool(spans) and span_of(line, spans) is not None


def _span(node: Node) -> Span:
    return node.lineno, node.end_lineno


def _is_in(line: int, spans: list[Span]) -> bool:
    return any(first <= line <= last for first, last in spans)


def _is_entered(span: Span, lines: list[int]) -> bool:
    """Whether something else than the function itself names it: what nothing names is no matter of devices."""
    return any(not span[0] <= line <= span[1] for line in lines)


def _guarded(file: File) -> set[Span]:
    """The lines that run only where a question that chooses a CUDA kernel says yes."""
    found: set[Span] = set()
    for link, asked in _questions(file):
        if branches.kernel(file, link):
            found |= _spans(asked, asked is link or isinstance(asked[0].ops[0], ast.Eq))
    return found


def _questions(file: File) -> Iterator[tuple[Link, Link]]:
    """`x.is_cuda`, and `"cuda"` that a device type is compared with: with the condition that they are."""
    yield from ((link, link) for link in file.buckets[ast.Attribute] if link[0].attr == "is_cuda")
    for link in file.buckets.get(ast.Compare, ()):
        if len(link[0].ops) != 1 or not isinstance(link[0].ops[0], (ast.Eq, ast.NotEq)):
            continue
        sides = (link[0].left, link[0].comparators[0])
        if any(getattr(side, "attr", "") == "type" for side in sides):
            yield from (((side, link), link) for side in sides if constant(side) == "cuda")


def _spans(asked: Link, yes: bool) -> set[Span]:
    """The lines that run only where a condition has a value."""
    child = asked[0]
    for up in ancestors(asked):
        above = up[0]
        if above.__class__ is ast.UnaryOp and isinstance(above.op, ast.Not):
            yes = not yes
        elif above.__class__ is ast.BoolOp:
            if isinstance(above.op, ast.And) is not yes:  # a part of it does not decide alone
                return set()
        elif above.__class__ in (ast.If, ast.IfExp) and child is above.test:
            return _of_choice(up, yes)
        else:
            return set()
        child = above
    return set()


def _of_choice(link: Link, yes: bool) -> set[Span]:
    node = link[0]
    if node.__class__ is ast.IfExp:
        side = node.body if yes else node.orelse
        return {_span(side)} if node.body.lineno != node.orelse.lineno else set()
    block = node.body if yes else node.orelse
    found = {(block[0].lineno, block[-1].end_lineno)} if block else set()
    if not yes and node.body[-1].__class__ in _LEAVES and link[1] is not None:
        field, index = place(link[1][0], node)
        rest = getattr(link[1][0], field)[index + 1 :] if field in BODIES else ()
        found |= {(rest[0].lineno, rest[-1].end_lineno)} if rest else set()
    return found


def _compiling(file: File) -> set[Span]:
    """The lines of functions that compile CUDA sources when they are called."""
    if not any(map(file.source.says, _FOR_CUDA)):
        return set()
    loads = (link for name in _COMPILE for link in file.apis.get(name, ()))
    around = (next((up[0] for up in ancestors(link) if isinstance(up[0], FUNCTIONS[:2])), None) for link in loads)
    return {_span(function) for function in around if function is not None}


def _after_answers(file: File, guarded: set[Span]) -> set[Span]:
    """The lines behind calls of functions that say yes only in guarded lines, and no with False or nothing elsewhere."""
    known = sorted(guarded)
    asking = {
        link[0].name
        for kind in FUNCTIONS[:2]
        for link in file.buckets.get(kind, ())
        if _says_no_to_npus(link[0], known)
    }
    calls = (link for link in file.buckets[ast.Call] if getattr(link[0].func, "id", "") in asking)
    return {span for link in calls for span in _spans(link, True)}


def _says_no_to_npus(function: Node, guarded: list[Span]) -> bool:
    answers = [node for node in walk(function) if node.__class__ is ast.Return and node.value is not None]
    inside = [node for node in answers if _is_in(node.lineno, guarded)]
    return bool(inside) and all(constant(node.value) is False for node in answers if node not in inside)
