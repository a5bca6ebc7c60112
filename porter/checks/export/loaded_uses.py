"""What becomes of what `torch.load` answers with: which part is taken, what it is called, and who gets it."""

from __future__ import annotations

import ast
from typing import Any

from porter.engine.rule_file import RuleFile
from porter.python.evidence import constant
from porter.python.index import Link, Node
from porter.training.value_uses import handed_to

_COPYING = frozenset({"load_state_dict"})  # copies to where the parameters lie
_NUMBERS = frozenset("range int float str len print format info trange".split())  # an epoch, a step


def part(call: Link) -> tuple[Link, str]:
    """For a call: the link of `load(path)["model"]["weights"]`, `load(path).get("model")`, and the first key."""
    key = ""
    while (above := call[1]) is not None:
        if above[0].__class__ is ast.Subscript and above[0].value is call[0]:
            key, call = key or str(constant(above[0].slice) or ""), above
        elif above[0].__class__ is ast.Attribute and above[0].attr == "get" and above[1][0].__class__ is ast.Call:
            given = above[1][0].args
            key, call = key or str(given and constant(given[0]) or ""), above[1]
        else:
            break
    return call, key


def named(value: Link, file: RuleFile) -> list[list[Link]]:
    """For each name that a value, or a part of it, is set to: its uses."""
    above = value[1]
    targets: list[Node] = above[0].targets if above is not None and above[0].__class__ is ast.Assign else []
    names = [n for t in targets for n in getattr(t, "elts", [t]) if n.__class__ is ast.Name]
    links: list[Any] = [(n, above) if n in targets else (n, (targets[0], above)) for n in names]
    return [file.names.readers(link[0].id, link) for link in links]


def is_copied(value: Link, file: RuleFile) -> bool:
    """Whether `load_state_dict` gets it, at once or through its name."""
    uses = [value, *(use for uses in named(value, file) for use in uses)]
    return any(handed_to(use) in _COPYING for use in uses)


def is_taken_apart(value: Link, file: RuleFile) -> bool:
    """`params, step = torch.load(path)` of which a part goes to somebody who may use it as it comes."""
    above = value[1] and value[1][0]
    if above.__class__ is not ast.Assign or above.targets[0].__class__ not in (ast.Tuple, ast.List):
        return False
    takers = {handed_to(use) for uses in named(value, file) for use in uses} - {""}
    return not takers <= _COPYING | _NUMBERS
