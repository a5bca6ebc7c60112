"""Finds functions that no NPU enters: all that names them stands behind a question for CUDA that stays as it is, or in a function
that compiles CUDA sources.

`if impl == "cuda" and x.device.type == "cuda": return _blur_cuda(x)` keeps its "cuda", because it chooses a CUDA kernel. So the
body of `_blur_cuda` never runs on an NPU. So it is with `if _can_use_kernel(x): ...`, where that function says no to an NPU.
Only names with an underscore count, as other files may use the rest, and of those only what no file of the project imports, no
string spells and no decorator may hand on.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from porter.python import kernel_branches, opened
from porter.python.blocks import below, once_for_file
from porter.python.evidence import constant
from porter.python.index import FUNCTIONS, Link, Node, ancestors, walk
from porter.python.started_kernels import branches_left
from porter.python.twin_questions import questions
from porter.spans import Span, span_of

if TYPE_CHECKING:
    from porter.python.file import File

_LEAVES = (ast.Return, ast.Raise, ast.Continue, ast.Break)
_COMPILE = ("torch.utils.cpp_extension.load", "torch.utils.cpp_extension.load_inline")
_FOR_CUDA = (b"TORCH_CUDA_ARCH_LIST", b"nvcc", b'.cu"', b".cu'")
_DEFINITIONS = (*FUNCTIONS[:2], ast.ClassDef)
_PLAIN = ("torch.", "triton.", "functools.")  # libraries whose decorators call nothing, but for those that register it
_REGISTERS = ("torch.library.", "torch.onnx.")
_Place = tuple[int, int]  # a line and a column
_Part = tuple[_Place, _Place]  # the first and the last place of a part of the text


@once_for_file
def behind_cuda(file: File) -> tuple[Span, ...]:
    """The lines of such functions and classes, sorted."""
    if not file.source.says(b"cuda"):
        return ()
    private: list[Node] = [node for node in file.tree.body if _is_private(file, node)]
    guarded = _guarded(file) if private else set()
    guarded |= _after_answers(file, guarded) if guarded else set()
    guarded |= _compiling(file) if private else set()
    if not guarded:
        return ()
    uses: dict[str, list[_Place]] = {node.name: [] for node in private}
    for node in walk(file.tree):
        name = node.id if node.__class__ is ast.Name else node.value if node.__class__ is ast.Constant else None
        if name.__class__ is str and name in uses:
            uses[name].append((node.lineno, node.col_offset))
    parts, left = {node: _part(node) for node in private}, private
    while True:  # those that only name each other are together behind a question, or not
        known = [*guarded, *(parts[node] for node in left)]
        kept = [node for node in left if all(_is_in(use, known) for use in uses[node.name])]
        if len(kept) == len(left):
            break
        left = kept
    entered = {*guarded}
    while more := {node for node in left if parts[node] not in entered and _any_in(uses[node.name], entered)}:
        entered |= {parts[node] for node in more}
    return tuple(sorted((node.lineno, node.end_lineno) for node in left if parts[node] in entered))


def _is_private(file: File, node: Node) -> bool:
    if not isinstance(node, _DEFINITIONS) or not node.name.startswith("_") or node.name in file.facts.roads.borrowed:
        return False
    functions = (mark.func if isinstance(mark, ast.Call) else mark for mark in node.decorator_list)
    names = [file.names.resolve(function, (function, None)) or "" for function in functions]
    return all(name.startswith(_PLAIN) and not name.startswith(_REGISTERS) for name in names)


def is_behind(file: File, line: int) -> bool:
    """Whether a line is in such a function, or in a branch that only starts a kernel."""
    several = (behind_cuda(file), branches_left(file))
    return any(spans and span_of(line, spans) is not None for spans in several)


def _part(node: Node, last: Node = None) -> _Part:
    """From the begin of a node to its end, or to that of a later one."""
    last = last or node
    return (node.lineno, node.col_offset), (last.end_lineno, last.end_col_offset)


def _is_in(place: _Place, parts: Iterable[_Part]) -> bool:
    return any(first <= place < last for first, last in parts)


def _any_in(places: Iterable[_Place], parts: Iterable[_Part]) -> bool:
    return any(_is_in(place, parts) for place in places)


def _guarded(file: File) -> set[_Part]:
    """What runs only where a question that chooses a CUDA kernel says yes."""
    found: set[_Part] = set()
    for question in questions(file):
        if question.subject.endswith(".type") and kernel_branches.kernel(file, question.link):
            found |= _parts(question.asked, question.yes)
    return found


def _parts(asked: Link, yes: bool) -> set[_Part]:
    """What runs only where a condition has a value."""
    found = opened.choice(asked, yes)
    if found is None:
        return set()
    link, yes = found
    node = link[0]
    blocks = [opened.branch(node, yes)]
    if node.__class__ is ast.If and not yes and node.body[-1].__class__ in _LEAVES:
        blocks.append(below(link))
    return {_part(block[0], block[-1]) for block in blocks if block}


def _compiling(file: File) -> set[_Part]:
    """What functions do that compile CUDA sources when they are called and answer with them, until these are compiled."""
    if not any(map(file.source.says, _FOR_CUDA)):
        return set()
    found: set[_Part] = set()
    for link in (link for name in _COMPILE for link in file.apis.get(name, ())):
        above = [up[0] for up in ancestors(link)]
        call = next(node for node in above if node.__class__ is not ast.Attribute)
        function = next((node for node in above if isinstance(node, FUNCTIONS[:2])), None)
        if call.__class__ is ast.Call and function is not None and any(_answers(function)):
            found.add(_part(function, call))
    return found


def _after_answers(file: File, guarded: set[_Part]) -> set[_Part]:
    """What stands behind calls of functions that say yes only in guarded parts, and no with False or nothing elsewhere."""
    asking: dict[str, bool] = {}
    for kind in FUNCTIONS[:2]:
        for link in file.buckets.get(kind, ()):  # several functions may have the name
            name = link[0].name
            asking[name] = asking.get(name, True) and _says_no_to_npus(link[0], guarded)
    calls = (link for link in file.buckets.get(ast.Call, ()) if asking.get(getattr(link[0].func, "id", "")))
    return {part for link in calls for part in _parts(link, True)}


def _says_no_to_npus(function: Node, guarded: set[_Part]) -> bool:
    answers = [*_answers(function)]
    inside = [node for node in answers if _is_in((node.lineno, node.col_offset), guarded)]
    return bool(inside) and all(constant(node.value) is False for node in answers if node not in inside)


def _answers(function: Node) -> Iterator[Node]:
    return (node for node in walk(function) if node.__class__ is ast.Return and node.value is not None)
