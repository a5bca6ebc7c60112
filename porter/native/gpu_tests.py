"""Tests that ask for a GPU and run what no NPU runs: they go on being skipped until that is ported, and so their devices stay."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from porter.engine.native_code import exports_of
from porter.engine.rule_file import Link, Node, RuleFile
from porter.native.endings import endings
from porter.native.python_to_kernels import mentions
from porter.native.uses import uses
from porter.python.blocks import once_for_file
from porter.python.index import FUNCTIONS, parents, walk
from porter.python.lightning_choices import accelerators

_QUESTION, _NUMBER = "torch.cuda.is_available", "torch.cuda.device_count"
_OWNERS = (*FUNCTIONS[:2], ast.ClassDef)


def needed(file: RuleFile, link: Link | None) -> str | None:
    """The kernel or the package that the test around a place ends in, or the tests that alone use what stands there."""
    tests = _tests(file) if file.tested and link is not None else {}
    return next((tests[above] for above in parents(link) if above in tests), None) if tests and link else None


@once_for_file
def _tests(file: RuleFile) -> dict[Node, str]:
    """Functions that ask and end so; of a class that asks, all its tests do."""
    questions, numbers = file.apis.get(_QUESTION, []), file.apis.get(_NUMBER, [])
    if not questions and not numbers or file.facts.accelerators.also_npu(file.path):
        return {}
    names = {row.called: row.end for row in file.facts.native.needed if row.test == file.path}
    guards = (up for link in (*questions, *numbers) for up in parents(link) if isinstance(up, _OWNERS)) if names else ()
    found: dict[Node, str] = {guard: names[guard.name] for guard in guards if guard.name in names}
    ends = _ends(file, names) if questions else {}
    for link in questions if ends else ():
        owner: Node = next((above for above in parents(link) if isinstance(above, _OWNERS)), None)
        tests = [owner]
        if isinstance(owner, ast.ClassDef):
            tests = [*filter(_is_test, owner.body)]
        if tests and all(test in ends for test in tests):
            found[owner] = ends[tests[0]]
    return found | _made_for(file, found) if found else found


def _made_for(file: RuleFile, tests: dict[Node, str]) -> dict[Node, str]:
    """What only such tests use, as functions that make their inputs, fixtures and constants: a default in it is for them."""
    found, users = dict(tests), _users(file)
    grown = True
    while grown:
        grown = False
        for node in users.keys() - found.keys():
            ends = [next((found[above] for above in parents(user) if above in found), None) for user in users[node]]
            if all(end is not None for end in ends):
                found[node], grown = min(map(str, ends)), True
    return found


def _users(file: RuleFile) -> dict[Node, list[Link]]:
    """The places that use a function or a constant of the module or of a class of tests; of a fixture, tests that take it."""
    names, attributes, taken = (
        file.names,
        _by(file.buckets[ast.Attribute], "attr"),
        _by(file.buckets.get(ast.arg, ()), "arg"),
    )
    users = {}
    for link in (link for kind in (*FUNCTIONS[:2], ast.Assign) for link in file.buckets[kind]):
        node, up = link
        function = isinstance(node, FUNCTIONS)
        name: str = node.name if function else getattr(node.targets[0], "id", "")
        bound = up if function else (node.targets[0], link)
        of_tests = isinstance(up[0], ast.Module) or isinstance(up[0], ast.ClassDef) and any(map(_is_test, up[0].body))
        if not name or name.startswith(("test", "__")) or not of_tests or len(names.bindings(name, bound)) != 1:
            continue
        fixture = taken.get(name, []) if function and node.decorator_list else []
        if several := [*names.readers(name, bound), *attributes.get(name, ()), *fixture]:
            users[node] = several
    return users


def _by(links: Iterable[Link], field: str) -> dict[str, list[Link]]:
    named: dict[str, list[Link]] = {}
    for link in links:
        named.setdefault(getattr(link[0], field), []).append(link)
    return named


def _is_test(node: Node) -> bool:
    return isinstance(node, FUNCTIONS[:2]) and node.name.startswith("test")


def _ends(file: RuleFile, names: dict[str, str]) -> dict[Node, str]:
    """Functions of the file, and what they end in, directly or over other functions of the file. `names`: what imported ones end in."""
    native = file.facts.native
    exports = exports_of(function for function in native.functions if function.path not in native.spared)
    used = uses(file.tree, exports) if exports and mentions(file.source.utf8, exports) else ()
    places = {node: f"{module}.{name}" for node, module, name in used} | accelerators(file)
    names = names | {end: end for end in places.values()}
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
