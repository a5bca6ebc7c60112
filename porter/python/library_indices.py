"""Finds indices and counts of GPUs that go to a library alone which uses CUDA itself: `faiss.index_cpu_to_gpu(r, torch.cuda.current_device(), i)`."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from porter.engine.rule_file import Link, Node, RuleFile
from porter.python.blocks import once_for_file
from porter.python.evidence import call_name, is_part_of, library_on_cuda
from porter.python.index import FUNCTIONS, chain_of, owner_of, parents

_NUMBERS = frozenset({"torch.cuda.current_device", "torch.cuda.device_count"})


def taker(file: RuleFile, name: str, link: Link | None) -> str | None:
    """The library that takes what a call of torch.cuda answers, if nothing else does."""
    function = chain_of(link) if link is not None and name in _NUMBERS and _libraries(file) else None
    call: Link | None = function[1] if function is not None else None
    if function is None or call is None or getattr(call[0], "func", None) is not function[0]:
        return None
    above: Node = call[1] and call[1][0]
    if above.__class__ is not ast.Assign or len(above.targets) != 1:
        return _given(file, call)
    target = above.targets[0]
    if target.__class__ is ast.Name:
        return _all(_given(file, use) for use in file.names.readers(target.id, (target, call[1])))
    holder = target.value if target.__class__ is ast.Attribute else None  # `config.device` of what faiss made
    return _made(file, holder, call) if holder.__class__ is ast.Name else None


@once_for_file
def _libraries(file: RuleFile) -> bool:
    names = (target for bound in file.names.imports.values() for target, _ in bound)
    return any(map(library_on_cuda, names))


def _given(file: RuleFile, value: Link) -> str | None:
    """The library whose function is called with a value."""
    up = value[1]
    call = up[1] if up is not None and up[0].__class__ is ast.keyword else up
    taken = call is not None and call[0].__class__ is ast.Call and call[0].func is not value[0]
    return _called(file, call) if taken else None


def _called(file: RuleFile, call: Link) -> str | None:
    library = library_on_cuda(file.names.resolve(call[0].func, call)) if call[0].__class__ is ast.Call else None
    return None if library and is_part_of(file.path, library) else library


def _made(file: RuleFile, holder: Node, link: Link) -> str | None:
    """The library that makes all that a name holds, also where a function of the file is given it."""
    return _all(_maker(file, binding) for binding in file.names.bindings(holder.id, link))


def _maker(file: RuleFile, binding: Link) -> str | None:
    above: Node = binding[1] and binding[1][0]
    if binding[0].__class__ is not ast.arg:
        return _called(file, (above.value, binding[1])) if above.__class__ is ast.Assign else None
    function = next((up for up in parents(binding) if isinstance(up, FUNCTIONS[:2])), None)
    known = [link for link in file.buckets[function.__class__] if link[0] is function] if function is not None else []
    if not known or binding[0] not in known[0][0].args.args:
        return None
    place = known[0][0].args.args.index(binding[0]) - (owner_of(known[0]) is not None)
    calls = [link for link in file.buckets[ast.Call] if call_name(link[0].func) == known[0][0].name]
    return _all(_called(file, (call[0].args[place], call)) if len(call[0].args) > place else None for call in calls)


def _all(libraries: Iterable[str | None]) -> str | None:
    found = {*libraries}
    return next(iter(found)) if len(found) == 1 else None
