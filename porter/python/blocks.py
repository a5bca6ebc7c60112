"""Says where a node stands among its siblings. Answers are kept at the node or at the file, so that nothing is searched twice."""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Callable, Hashable, Iterator
from functools import wraps
from typing import Any, Protocol, TypeVar

from porter.engine.rule_file import Link, Node
from porter.python.walks import children

BODIES = ("body", "orelse", "finalbody")
_Answer = TypeVar("_Answer")


class _Answers(Protocol):
    """The part of `Parsed` (python/file.py) that this module needs."""

    answers: dict[str, dict[Any, Any]]


def once(ask: Callable[..., _Answer]) -> Callable[..., _Answer]:
    """Decorates a question about a node, so that it is answered once. Only the node may decide the answer: the answer is
    kept at the node, whatever the other arguments are."""
    key = f"_{ask.__module__}.{ask.__qualname__}"

    @wraps(ask)
    def answer(node: Node, *arguments: object) -> _Answer:
        known = node.__dict__  # kept as long as the node
        if key not in known:
            known[key] = ask(node, *arguments)
        result: _Answer = known[key]
        return result

    return answer


def once_for_file(ask: Callable[..., _Answer]) -> Callable[..., _Answer]:
    """Decorates a question about a file and further arguments, so that it is answered once for each of them."""
    question = f"{ask.__module__}.{ask.__qualname__}"

    @wraps(ask)
    def answer(file: _Answers, *arguments: Hashable) -> _Answer:
        known = file.answers[question]
        if arguments not in known:
            known[arguments] = ask(file, *arguments)
        result: _Answer = known[arguments]
        return result

    return answer


def place(owner: Node, child: Node) -> tuple[str, int]:
    """The field of `owner` whose list holds `child`, and the index there; ("", -1) where no list holds it."""
    # kept as long as the node
    known: dict[Node, tuple[str, int]] | None = owner.__dict__.get("_places")
    if known is None:
        fields: Iterator[tuple[str, Any]] = ((name, getattr(owner, name, None)) for name in owner._fields)
        lists = [(name, value) for name, value in fields if value.__class__ is list]
        known = owner._places = {item: (name, index) for name, value in lists for index, item in enumerate(value)}
    return known.get(child, ("", -1))


def below(link: Link) -> list[Node]:
    """The statements that follow one in its block."""
    if link[1] is None:
        return []
    field, index = place(link[1][0], link[0])
    statements: list[Node] = getattr(link[1][0], field)[index + 1 :] if field in BODIES else []
    return statements


def within(owner: Node, child: Node, *fields: str) -> bool:
    """Whether the list in one of these fields of `owner` holds `child`."""
    return place(owner, child)[0] in fields


def above(owner: Node, child: Node, finds: Callable[[ast.stmt], object], key: object) -> object:
    """The first answer that `finds` gives for a statement above `child` in the same block; None where it gives none. For
    each `key`, a block is searched once."""
    field, index = place(owner, child)
    if field not in BODIES:
        return None
    known = owner.__dict__.setdefault("_firsts", {})
    if (key, field) not in known:
        block = getattr(owner, field)
        known[key, field] = next(
            ((n, answer) for n, statement in enumerate(block) if (answer := finds(statement))), (len(block), None)
        )
    first, answer = known[key, field]
    return answer if first < index else None


def fresh(file: Any, question: str, part: Node, link: Link) -> Iterator[Node]:
    """The nodes below `part`, in the order of `walk`, without statements in which this question has found nothing before. An
    `elif` holds all that follow it, so that they would be searched again and again."""
    barren = file.answers["barren"].setdefault((question, file.names.scopes.around(link)), set())
    statements, todo = [], deque([part])
    while todo:
        node = todo.popleft()
        if isinstance(node, ast.stmt):
            if node in barren:
                continue
            statements.append(node)
        todo.extend(children(node))
        yield node
    barren.update(statements)  # reached only if nothing was found: a caller that finds something stops before
