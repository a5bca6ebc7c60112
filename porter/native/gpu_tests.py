"""Tests that ask for a GPU and run what no NPU runs: they go on being skipped until that is ported, and so their devices stay."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from porter.engine.native_code import exports_of
from porter.engine.rule_file import Link, Node, RuleFile
from porter.native.endings import endings
from porter.native.python_to_kernels import mentions
from porter.native.uses import uses
from porter.python.blocks import once_for_file
from porter.python.index import FUNCTIONS, parents, walk

_QUESTION = "torch.cuda.is_available"
_OWNERS = (*FUNCTIONS[:2], ast.ClassDef)


def needed(file: RuleFile, link: Link | None) -> str | None:
    """The kernel or the package that the test around a place ends in."""
    tests = _tests(file) if file.tested and link is not None else {}
    return next((tests[above] for above in parents(link) if above in tests), None) if tests and link else None


@once_for_file
def _tests(file: RuleFile) -> dict[Node, str]:
    """Functions that ask and end so; of a class that asks, all its tests do."""
    questions = file.apis.get(_QUESTION, [])
    if not questions or file.facts.accelerators.also_npu(file.path):
        return {}
    ends = _ends(file)
    found: dict[Node, str] = {}
    for link in questions if ends else ():
        owner: Node = next((above for above in parents(link) if isinstance(above, _OWNERS)), None)
        tests = [owner]
        if isinstance(owner, ast.ClassDef):
            tests = [s for s in owner.body if isinstance(s, FUNCTIONS[:2]) and s.name.startswith("test")]
        if tests and all(test in ends for test in tests):
            found[owner] = ends[tests[0]]
    return found


def _ends(file: RuleFile) -> dict[Node, str]:
    """Functions of the file, and what they end in, directly or over other functions of the file."""
    native = file.facts.native
    names = {row.called: row.end for row in native.needed if row.test == file.path}
    exports = exports_of(function for function in native.functions if function.path not in native.spared)
    used = uses(file.tree, exports) if exports and mentions(file.source.utf8, exports) else ()
    places = {node: f"{module}.{name}" for node, module, name in used}
    names |= {end: end for end in places.values()}
    if not names:
        return {}
    functions: list[Node] = [link[0] for kind in FUNCTIONS[:2] for link in file.buckets.get(kind, ())]
    return endings({function: _words(function, places) for function in functions}, names, lambda f: [f.name])


def _words(function: Node, places: dict[Node, str]) -> Iterator[str]:
    """What it calls by name, or as a method of its own object; and what it ends in, as the name of that."""
    for node in walk(function):
        if node in places:
            yield places[node]
        elif node.__class__ is ast.Name:
            yield node.id
        elif node.__class__ is ast.Attribute and getattr(node.value, "id", "") in ("self", "cls"):
            yield node.attr
