"""Conditions that are false where the package flash_attn is not installed: what they choose needs no port."""

from __future__ import annotations

import ast
from bisect import bisect_left
from collections.abc import Container, Mapping

from porter.checks.native.guarded_uses import asks, flags_of
from porter.engine.rule import cst
from porter.engine.rule_file import Link, Node, RuleFile
from porter.python.blocks import once_for_file
from porter.python.evidence import call_name, constant
from porter.python.index import FUNCTIONS, parents, walk
from porter.python.walks import statements
from porter.regex import lazy

_PACKAGE = "flash_attn"
# what somebody else calls such a flag, or a question for the package
_SAID = lazy(r"(?i)_?(?:has|have)_flash_?att\w*|_?(?:is_)?flash_?att\w*_(?:is_)?(?:available|installed)")


def is_taken_where_there(value: cst.IfExp, file: RuleFile) -> bool:
    """`"flash_attention_2" if flash else "eager"`, where `flash` is false without the package."""
    link = file.scene.link_to(file.statement)
    if link is None:
        return False
    place = file.span(value)
    choices = (node for node in walk(link[0]) if node.__class__ is ast.IfExp and file.source.span(node) == place)
    return any(_needs(choice.test, file, (choice, link)) for choice in choices)


def is_behind_flag(file: RuleFile) -> bool:
    """Whether the statement stands in `if flash:`, where `flash` is false without the package."""
    link = file.scene.link_to(file.statement)
    child: Node = file.statement
    for above in parents(link) if link is not None else ():
        if isinstance(above, ast.If) and child in above.body and _needs(above.test, file, (above, link)):
            return True
        if above.__class__ in FUNCTIONS:
            return False
        child = above
    return False


def _needs(test: Node, file: RuleFile, place: Link) -> bool:
    questions = test.values if test.__class__ is ast.BoolOp and test.op.__class__ is ast.And else [test]
    if any(one.__class__ is ast.Call and _SAID.fullmatch(call_name(one.func)) for one in questions):
        return True
    function = next((node for node in parents(place) if node.__class__ in FUNCTIONS[:2]), None)
    held = _held(file, function) if function is not None else {}
    return asks(test, _Flags(_flags(file), held, place[0].lineno))


class _Flags(Container[str]):
    """The names that are true only where the package is, as they are on a line of a function."""

    def __init__(self, everywhere: frozenset[str], held: Mapping[str, list[tuple[int, bool]]], line: int) -> None:
        self._everywhere, self._held, self._line = everywhere, held, line

    def __contains__(self, name: object) -> bool:
        known = self._held.get(str(name), [])
        index = bisect_left(known, (self._line, False)) - 1
        return known[index][1] if index >= 0 else name in self._everywhere


@once_for_file
def _held(file: RuleFile, function: Node) -> dict[str, list[tuple[int, bool]]]:
    """What a function sets, by name: on which lines, and whether to what is true only where the package is. `flash = flash if
    has_flash_attn else False` and `flash = flash and has_flash_attn` are."""
    held: dict[str, list[tuple[int, bool]]] = {}
    for statement in function.body:
        if statement.__class__ is ast.Assign:
            value = statement.value
            falls = (
                value.__class__ is ast.IfExp and value.orelse.__class__ is ast.Constant and not constant(value.orelse)
            )
            flags = _Flags(_flags(file), held, statement.lineno)
            is_held = asks(value.test if falls else value, flags)
            for target in statement.targets:
                if target.__class__ is ast.Name:
                    held.setdefault(target.id, []).append((statement.lineno, is_held))
    return held


@once_for_file
def _flags(file: RuleFile) -> frozenset[str]:
    """The names that are true only where the package can be imported, here or in the file that they are imported from."""
    flags: set[str] = set()
    for block in (node for node in statements(file.tree) if isinstance(node, ast.Try)):
        tried = [node for statement in block.body for node in walk(statement)]
        if any(map(_is_of_package, tried)):
            flags |= flags_of(block)
    for link in file.buckets.get(ast.ImportFrom, ()):
        flags.update(a.asname or a.name for a in link[0].names if _SAID.fullmatch(a.name))
    return frozenset(flags)


def _is_of_package(node: Node) -> bool:
    names = [node.module or ""] if node.__class__ is ast.ImportFrom else []
    names += [alias.name for alias in node.names] if node.__class__ is ast.Import else []
    return any(name.partition(".")[0] == _PACKAGE for name in names)
