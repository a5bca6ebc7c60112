"""Finds comparisons with names of the program's own: of a setting, such as `prefetch_mode = cfg.get("prefetch_mode")`, of a kernel.

Where nothing is done with the value but to compare it and to tell of it, it never is a device of torch: "cuda" is the name of
a way to go, and the settings go on saying it.
"""

from __future__ import annotations

import ast

from porter.engine.rule_file import Link, Node, RuleFile
from porter.python.evidence import call_name, constant, device_like, like, logged, words_of
from porter.python.guards import asked
from porter.python.index import walk
from porter.regex import lazy

_OF_CUDA = lazy(r"(?i)[a-z\d]_cuda(?:_|$)|^cuda_")
_EXTENSION = lazy(r"(?i)(?:_cuda|_ext|(?:^|\.)_C)$")


def compared_setting(file: RuleFile, link: Link) -> str | None:
    """For a string that is compared: the key of the setting on the other side. None where the value may be a device."""
    comparison = link[1][0]
    if comparison.__class__ is not ast.Compare or len(comparison.ops) != 1:
        return None
    other = comparison.left if comparison.comparators[0] is link[0] else comparison.comparators[0]
    if other.__class__ is not ast.Name:
        return None
    name, bindings = other.id, file.names.bindings(other.id, link)
    return file.names.once("own setting", bindings, lambda: _setting(file, name, bindings)) if bindings else None


def _setting(file: RuleFile, name: str, bindings: list[Link]) -> str | None:
    keys = {_key(binding) for binding in bindings}
    key = next(iter(keys)) if len(keys) == 1 else None
    if not key or like(key, "device") or like(key, "backend"):
        return None
    return key if all(map(_only_says, file.names.readers(name, bindings[0]))) else None


def _key(binding: Link) -> str | None:
    """`mode` of `x = settings["mode"]`, or of `x = settings.get("mode")`."""
    above = binding[1] and binding[1][0]
    value: Node = above.value if above.__class__ is ast.Assign and above.value is not binding[0] else None
    if value.__class__ is ast.Call and call_name(value.func) == "get" and value.args:
        value = value.args[0]
    elif value.__class__ is ast.Subscript:
        value = value.slice
    key = constant(value)
    return key if isinstance(key, str) else None


def _only_says(use: Link) -> bool:
    """Whether a use compares the value, or tells a person of it."""
    return use[1][0].__class__ is ast.Compare or logged(use)


def kernel_of_key(file: RuleFile, link: Link) -> str | None:
    """`{"cpu": dot_cpu, "cuda": dot_cuda}`: the kernel that stands under a device in a table. The file imports it from an extension: in a
    `try`, or from a module that is called like one."""
    table = link[1][0]
    if table.__class__ is not ast.Dict or link[0] not in table.keys:
        return None
    value = table.values[table.keys.index(link[0])]
    words, root = words_of(value) if value.__class__ in (ast.Name, ast.Attribute) else ([""], value)
    if not _OF_CUDA.search(words[0]) or root.__class__ is not ast.Name:
        return None
    imported = file.names.imports.get(root.id, ())
    modules = [(full if root is not value else full.rpartition(".")[0], at) for full, at in imported]
    return words[0] if any(_EXTENSION.search(module) or asked(at) for module, at in modules) else None


def is_name_of_kernels(link: Link) -> bool:
    """`self.backend == "cuda"` beside a question for the device: "cuda", "keops" and "naive" are names of its kernels."""
    compare = link[1][0]
    if compare.__class__ is not ast.Compare or link[1][1][0].__class__ is not ast.BoolOp:
        return False
    sides = (s for s in (compare.left, *compare.comparators) if s.__class__ is not ast.Constant)
    asked = (node for value in link[1][1][0].values if value is not compare for node in walk(value))
    return not any(map(device_like, sides)) and any(map(device_like, asked))
