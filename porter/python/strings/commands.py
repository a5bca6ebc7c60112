"""Finds environment variables that a command in a string sets: `os.system(f"CUDA_VISIBLE_DEVICES={gpu} python train.py")`."""

from __future__ import annotations

import ast
import re
from functools import cache
from typing import TYPE_CHECKING

from porter.python.blocks import once, place
from porter.python.evidence import RUNNERS, call_name, logged
from porter.python.index import Link, Node, ancestors, strings
from porter.python.searches import Sought, lines_with
from porter.python.strings.environ import Variable
from porter.regex import lazy
from porter.rulebook.variable_values import is_list

if TYPE_CHECKING:
    from porter.python.file import Parsed

_PROSE = frozenset({"help", "description", "epilog", "usage", "reason", "msg"})  # keywords with text for people
_PUT_IN = "\0"  # stands for an expression of an f-string
_PROGRAM = lazy(
    r"(?:python[\d.]*|torchrun|accelerate|deepspeed|bash|sh|srun|mpirun)(?:$|[ \t])|\S+\.(?:py|sh)(?:$|[ \t])"
)
_COMPUTED = lazy(r"[\0%{$]")  # in a value that is known only at run time


def commands(file: Parsed) -> dict[int, Variable]:
    """The variables, by the offset of the string. Text that only tells a person what to type does not count."""
    names = tuple(sorted(name for name, row in file.rules.tables.variables.items() if is_list(row)))
    lines = lines_with(file.source, *_sought(names)) if names else []
    found: dict[int, Variable] = {}
    for part in strings(file.tree, lines, _named(names)) if lines else ():
        link: Link = part[1] if part[1] and part[1][0].__class__ is ast.JoinedStr else part
        text = _text(link[0])
        match = _command(names).search(text + _added(link)) or _word(names, link)
        if match and match.start(1) < len(text) and not logged(link) and not _is_prose(link):
            value = None if _COMPUTED.search(match[2]) else match[2]
            offset = file.source.span(link[0])[0]
            found[offset] = Variable(link, "variable", "command", _is_run(file, link), match[1], True, value)
    return found


@cache
def _sought(names: tuple[str, ...]) -> tuple[Sought, ...]:
    return tuple(Sought(f"{name}=") for name in names)


@cache
def _named(names: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(f"{name}=" for name in names))


@cache
def _command(names: tuple[str, ...]) -> re.Pattern[str]:
    """The pattern of `NAME=value` at the begin of a command, before its program."""
    # A value holds no character behind which a command may begin, so that the search never goes over a text twice.
    gap, value = r"(?:[ \t]|\\\n)+", r"[^\s;&|(]*"
    before = rf"(?:^|[;&|(]|(?<!\\)\n)[ \t]*(?:(?:env|export|nohup|sudo){gap}|[A-Za-z_]\w*={value}{gap})*"
    return re.compile(rf"{before}({'|'.join(names)})=({value})(?:{gap}[^\s=]|[ \t]*[;&|])")


def _word(names: tuple[str, ...], link: Link) -> re.Match[str] | None:
    """`NAME=value` alone in a list of words that goes on with a program: `[f"CUDA_VISIBLE_DEVICES={gpu}", "python train.py"]`."""
    if not link[1] or link[1][0].__class__ not in (ast.List, ast.Tuple):
        return None
    match = re.fullmatch(rf"({'|'.join(names)})=([^\s;&|(]*)", _text(link[0]))
    return match if match and place(link[1][0], link[0])[1] < _last_program(link[1][0]) else None


@once
def _last_program(words: Node) -> int:
    """The place in a list of the last word that starts a program; -1 where there is none."""
    texts = enumerate(_text(word) if word.__class__ in (ast.Constant, ast.JoinedStr) else "" for word in words.elts)
    return max((n for n, text in texts if _PROGRAM.match(text)), default=-1)


def _text(node: Node) -> str:
    if node.__class__ is ast.JoinedStr:
        return "".join(str(p.value) if p.__class__ is ast.Constant else _PUT_IN for p in node.values)
    return str(node.value)


def _added(link: Link) -> str:
    """What is put behind a string: `cmd` of `"CUDA_VISIBLE_DEVICES=%d " % gpu + cmd`."""
    added, node = "", link[0]
    for above, _ in ancestors(link):
        if above.__class__ is not ast.BinOp or above.left is not node or above.op.__class__ not in (ast.Add, ast.Mod):
            break
        if above.op.__class__ is ast.Add:
            right = above.right
            added += _text(right) if right.__class__ in (ast.Constant, ast.JoinedStr) else _PUT_IN
        node = above
    return added


def _is_prose(link: Link) -> bool:
    above: Node = link[1][0] if link[1] else None
    return above.__class__ is ast.Expr or above.__class__ is ast.keyword and above.arg in _PROSE


def _is_run(file: Parsed, link: Link) -> bool:
    """Whether the string, or the local name that it is assigned to, is passed to a function that runs commands."""
    for up in ancestors(link):
        above: Node = up[0]
        if above.__class__ is ast.Call:
            return call_name(above.func) in RUNNERS
        if above.__class__ is ast.Assign and len(above.targets) == 1 and above.targets[0].__class__ is ast.Name:
            readers = file.names.readers(above.targets[0].id, (above.targets[0], up))
            return any(use[1][0].__class__ is ast.Call and call_name(use[1][0].func) in RUNNERS for use in readers)
        if above.__class__ not in (ast.BinOp, ast.IfExp, ast.keyword):
            return False
    return False
