"""Finds questions for a GPU that lead to its generation, in functions that describe the machine or answer what it can do.

    has_gpu = torch.cuda.is_available()
    if has_gpu:
        major, minor = torch.cuda.get_device_capability()

An NPU has none: the call raises, and ported it gives None. As the question stands, such a function goes on as without a GPU.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from porter.python.capabilities import CAPABILITY, is_reached
from porter.python.cuda_versions import is_for_device
from porter.python.evidence import call_name
from porter.python.index import FUNCTIONS, Link, Node, ancestors, walk

if TYPE_CHECKING:
    from porter.engine.rule_file import RuleFile
    from porter.python.file import File

_ASKING = frozenset({CAPABILITY})
_MOVES = frozenset({"cuda", "to"})


def describes(file: File, assign: Link, child: Node | None) -> tuple[str, str] | None:
    """The choice of a question that a name keeps and that opens a branch with such a call, in a function that moves nothing to a
    device. Without a GPU it describes the machine and goes on."""
    if assign[0].value is not child or not any(_opened(file, assign)):
        return None
    around = next((up[0] for up in ancestors(assign) if up[0].__class__ in FUNCTIONS), None)
    calls = (node for node in walk(around) if node.__class__ is ast.Call) if around is not None else ()
    if around is None or any(getattr(call.func, "attr", "") in _MOVES for call in calls):
        return None
    return "describes", CAPABILITY


def answers(file: File, early: Link) -> tuple[str, str] | None:
    """The choice of `if not torch.cuda.is_available(): return False` in a function that answers with constants alone, and asks for a
    generation behind it."""
    asked = _asked(file)
    around = next((up[0] for up in ancestors(early) if up[0].__class__ in FUNCTIONS[:2]), None) if asked else None
    returned = [node.value for node in walk(around) if node.__class__ is ast.Return] if around is not None else []
    plain = bool(returned) and all(value is None or value.__class__ is ast.Constant for value in returned)
    return ("describes", CAPABILITY) if plain and any(is_reached(link, early, False) for link in asked) else None


def asked_first(file: File, opened: Link) -> tuple[str, str] | None:
    """The choice of a branch that asks for the generation as soon as it is entered, and then does nothing for a device."""
    asked = [] if opened[0].orelse else [link for link in _asked(file) if is_reached(link, opened, True)]
    own = {node for link in asked for node in walk(link[1][0])}
    rest = (node for part in opened[0].body for node in walk(part) if node not in own)
    return ("raises", CAPABILITY) if asked and not any(is_for_device(file, node, opened) for node in rest) else None


def _asked(file: File) -> list[Link]:
    return file.meaning.mentions.of(_ASKING) if file.source.says(b"get_device_capability") else []


def _opened(file: File, assign: Link) -> Iterator[Node]:
    """The `if` of each branch that the name opens and that comes to the call in any case."""
    target: Node = assign[0].targets[0]
    asked = _asked(file)
    for use in file.names.readers(target.id, (target, assign)) if asked and target.__class__ is ast.Name else ():
        test = use[1]
        if test[0].__class__ is ast.If and test[0].test is use[0]:
            if any(is_reached(link, test, True) for link in asked):
                yield test[0]


def is_of_generation(link: Link, file: RuleFile) -> bool:
    """Whether a value is the device whose generation is asked for, by a call that no port writes: `get_device_capability("cuda")`,
    `get_device_capability(torch.device("cuda"))`."""
    above = link[1]
    if above is not None and call_name(getattr(above[0], "func", None)) == "device":
        above = above[1]
    call: Node = above[0] if above is not None else None
    return call.__class__ is ast.Call and file.names.resolve(call.func, above) == CAPABILITY


def is_described(file: File, link: Link, staying: Sequence[Link]) -> bool:
    """Whether a place stands in a branch that a name opens whose question is one of those that stay."""
    kept = {next(up[0] for up in ancestors(question) if isinstance(up[0], ast.stmt)) for question in staying}
    for up in ancestors(link) if kept else ():
        test: Node = up[0].test if up[0].__class__ is ast.If else None
        if test.__class__ is ast.Name:
            bound = file.names.bindings(test.id, (test, up))
            if any(binding is not None and binding[1] is not None and binding[1][0] in kept for binding in bound):
                return True
    return False
