"""Branches of a script that only a machine with GPUs takes: what follows `if command -v nvidia-smi; then`.

Where such a branch installs for CUDA, the machine with NPUs has to go on taking the other one: the test stays as it is, and
nobody acts on what stands in the branch. So it is with `if [ "$USE_CUDA" = true ]` where the variable says what was found.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from porter.regex import lazy
from porter.text.shells.parse import syntax

if TYPE_CHECKING:
    from tree_sitter import Node

_TOOLS = r"(?:nvidia-smi|nvcc)"
_ASKS = rf"(?:command[ \t]+-v|which|type(?:[ \t]+-\w+)?|hash)[ \t]+{_TOOLS}"
_QUIET = r"(?:[ \t]*(?:&>|\d?>>?)[ \t]*(?:/dev/null|&\d))*"
_TEST = lazy(rf"(?:{_ASKS}|nvidia-smi){_QUIET}[ \t]*;?\s*$")
_PATH = lazy(rf"\[\[?[ \t]+(?:-[nxef][ \t]+)?[\"']?\$\([ \t]*{_ASKS}{_QUIET}[ \t]*\)[\"']?[ \t]+\]\]?[ \t]*;?\s*$")
_CALL = lazy(r"([A-Za-z_][\w-]*)[ \t]*;?\s*$")
_SAYS = lazy(_ASKS + r"|\bif[ \t]+(?:![ \t]+)?nvidia-smi\b")
_YES, _NO = lazy(r"\breturn[ \t]+0\b|\btrue\b"), lazy(r"\breturn[ \t]+[1-9]|\bfalse\b")
# a program is run there as well, which has to run where there are NPUs
_STARTS = lazy(
    r"\b(?:python[\d.]*|torchrun|accelerate|deepspeed)[ \t]+(?!-c\b|-m[ \t]+pip\b|setup\.py\b|-V|--version)[\w./$-]"
)
_NOT = lazy(r"![ \t]+")
# what a branch does that only takes note of what was found; a variable that says that there are GPUs, or none
_NOTES = lazy(
    r"(?:then|else|(?=fi\b))?(?:[ \t]*(?:(?:echo|printf|:)\b[^\n]*|[A-Za-z_]\w*=[^\s;]*;?|fi\b|#[^\n]*)?(?:\n|$))*"
)
_GPU = r"\b([A-Za-z_]*(?i:cuda|gpu|nvidia)\w*)=[\"']?"
_FOUND, _MISSING = lazy(_GPU + r"(?:true|1|yes|on)\b"), lazy(_GPU + r"(?:false|0|no|off)\b")
_TOLD = lazy(
    r"(?![^\n]*\|\|)(?:\[\[?[ \t]+)?[\"']?\$\{?([A-Za-z_]\w*)\}?[\"']?"
    r"(?:[ \t]*(?:==?|-eq)[ \t]*[\"']?(?:true|1|yes|on)\b|[ \t]*(?:;|&&|\n))"
)


class GpuBranch(NamedTuple):
    start: int
    end: int
    asked: tuple[int, int]  # where the script asks for the tool


def gpu_branches(text: str) -> Iterator[GpuBranch]:
    """The branches of a script, the outer ones first."""
    root = syntax(text) if _SAYS.search(text) else None
    if root is None:
        return
    nodes = [*_below(root)]
    functions = dict(filter(None, (_asking(node, text) for node in nodes)))
    inside = {*functions.values()}
    noted: dict[str, tuple[int, int]] = {}  # by variable, where what it says was asked
    for node in nodes:
        if node.type not in ("if_statement", "elif_clause"):
            continue
        condition = _condition(node, text)
        if condition is None:
            continue
        start, end, is_turned = condition
        told = None if is_turned else _TOLD.match(text, start, end)
        asked = noted.get(told[1]) if told else _asked(text[start:end], (start, end), functions)
        if asked is None or (start, end) in inside:
            continue
        if not told and (names := _noted(text, node, end, is_turned)):
            noted.update(dict.fromkeys(names, asked))
        elif (body := _body(node, end, is_turned)) is not None and not _STARTS.search(text, *body):
            yield GpuBranch(*body, asked)


def _below(root: Node) -> Iterator[Node]:
    """The nodes below, in the order of the text."""
    todo = [root]
    while todo:
        node = todo.pop()
        yield node
        todo += reversed(node.named_children)


def _condition(node: Node, text: str) -> tuple[int, int, bool] | None:
    """Where the condition of an `if` stands, and whether it is turned round; None where it is more than one command."""
    then = next((child for child in node.children if child.type == "then"), None)
    if then is None or not node.children:
        return None
    start, end = node.children[0].end_byte, then.start_byte
    start += len(text[start:end]) - len(text[start:end].lstrip())
    turned = _NOT.match(text, start, end)
    return turned.end() if turned else start, end, turned is not None


def _noted(text: str, node: Node, after: int, is_turned: bool) -> list[str]:
    """The variables that keep what was found, where nothing else is done with that."""
    others = (child.start_byte for child in node.children if child.type in ("elif_clause", "else_clause"))
    middle = next(others, node.end_byte)
    first, rest = (after, middle), (middle, node.end_byte)
    found, missing = (rest, first) if is_turned else (first, rest)
    if not _NOTES.fullmatch(text, *found):
        return []
    return [match[1] for match in (*_FOUND.finditer(text, *found), *_MISSING.finditer(text, *missing))]


def _asked(condition: str, at: tuple[int, int], functions: dict[str, tuple[int, int]]) -> tuple[int, int] | None:
    """Where a condition asks for a tool, itself or by a function of the script."""
    if _TEST.match(condition) or _PATH.match(condition):
        return at
    called = _CALL.match(condition)
    return functions.get(called[1]) if called else None


def _asking(node: Node, text: str) -> tuple[str, tuple[int, int]] | None:
    """The name of a function that says whether there is a tool, and where it asks."""
    name, body = (node.child_by_field_name(field) for field in ("name", "body"))
    if node.type != "function_definition" or name is None or body is None or len(body.named_children) != 1:
        return None
    only = body.named_children[0]
    if only.type != "if_statement":
        start, end = only.start_byte, only.end_byte
        return (text[name.start_byte : name.end_byte], (start, end)) if _TEST.match(text[start:end]) else None
    condition = _condition(only, text)
    if condition is None or condition[2] or not _TEST.match(text[condition[0] : condition[1]]):
        return None
    otherwise = next((child for child in only.children if child.type == "else_clause"), None)
    if otherwise is None or not _NO.search(text, otherwise.start_byte, otherwise.end_byte):
        return None
    says_yes = _YES.search(text, condition[1], otherwise.start_byte) is not None
    return (text[name.start_byte : name.end_byte], (condition[0], condition[1])) if says_yes else None


def _body(node: Node, after: int, is_turned: bool) -> tuple[int, int] | None:
    """What runs where the tool is: up to the other branches, or, behind `if !`, the `else`."""
    others = [child for child in node.children if child.type in ("elif_clause", "else_clause")]
    if not is_turned:
        return after, others[0].start_byte if others else node.end_byte
    last = others[-1] if others and others[-1].type == "else_clause" else None
    return (last.start_byte, last.end_byte) if last is not None and len(others) == 1 else None
