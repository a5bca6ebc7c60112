"""What one rank does alone while all others wait for it: evaluates, prepares data, saves."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator

from porter.advice.trees import File, Link, Node, call_name, within_function
from porter.regex import lazy

_FIRST_RANK = lazy(
    r"rank(?:\(\))? == 0$|^0 == .*rank|is_(?:main|master)_process(?:\(.*\))?$|is_(?:master|main)$|rank in [\[(]"
)
_EVALUATES = lazy(r"^(?:do_)?(?:evaluate|validate|validation|eval_model|run_eval\w*|evaluation)(?:_\w+)?$")
_PREPARES = lazy(
    r"^(?:map|save_to_disk|(?:pre_?process|tokeni[sz]e|prepare)_(?:\w+_)?(?:data|dataset|datasets|corpus|cache))$"
)
_SAVES = lazy(r"^(?:save|save_pretrained|save_model|save_checkpoint)$")


def seen(file: File) -> Iterator[tuple[str, int]]:
    """Sign -> the lines. Where an epoch is evaluated, the wait is at the next collective; elsewhere, at a barrier."""
    text = file.source.utf8
    possible = {"first_rank_works"} if b".backward(" in text else set()
    possible |= {"first_rank_prepares", "first_rank_saves"} if b"barrier" in text or b"_for_everyone" in text else set()
    calls: dict[tuple[str, Node], list[int]] = defaultdict(list)
    for link in file.buckets[ast.Call] if possible else ():
        if (sign := _work(call_name(link[0].func))) in possible:
            if (branch := _branch(link)) and _waited_for(branch, sign):
                calls[sign, branch[0]].append(link[0].lineno)
    yield from ((sign, min(lines)) for (sign, _), lines in calls.items())


def _work(name: str) -> str:
    if _EVALUATES.search(name):
        return "first_rank_works"
    if _PREPARES.search(name):
        return "first_rank_prepares"
    return "first_rank_saves" if _SAVES.search(name) else ""


def _branch(link: Link) -> Link | None:
    """The `if rank == 0:` that it stands in."""
    child = link[0]
    for above in within_function(link):
        if above[0].__class__ is ast.If and child in above[0].body and _asks_for_first(above[0].test):
            return above
        child = above[0]
    return None


def _waited_for(branch: Link, sign: str) -> bool:
    if sign == "first_rank_works":
        return any(above[0].__class__ in (ast.For, ast.While) for above in within_function(branch))
    above = branch[1][0]
    body = next((body for body in (getattr(above, "body", ()), getattr(above, "orelse", ())) if branch[0] in body), ())
    return any(_is_barrier(statement) for statement in list(body)[list(body).index(branch[0]) + 1 :][:2])


def _is_barrier(statement: Node) -> bool:
    while statement.__class__ is ast.If and len(statement.body) == 1:  # if distributed: barrier()
        statement = statement.body[0]
    call: Node = getattr(statement, "value", None)
    return call.__class__ is ast.Call and call_name(call.func) in ("barrier", "synchronize", "wait_for_everyone")


def _asks_for_first(test: Node) -> bool:
    terms = test.values if test.__class__ is ast.BoolOp and test.op.__class__ is ast.And else [test]
    return any(_FIRST_RANK.search(ast.unparse(term)) for term in terms)
