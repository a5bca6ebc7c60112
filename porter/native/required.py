"""The CUDA extension of the project, or the lost package of torch, without which a file cannot even be imported."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from porter.engine.rule_file import Link, Node, RuleFile
from porter.native.uses import imported
from porter.python.blocks import once_for_file

GONE = frozenset({"caffe2"})  # packages of torch that its wheels no longer bring


@once_for_file
def required(file: RuleFile) -> tuple[Link, str] | None:
    """The import that nothing guards, and the extension; None where there is none."""
    native = file.facts.native
    modules = frozenset(native.modules_near(file.path)) - frozenset(native.plain)
    if not any(module.encode() in file.source.words for module in modules):
        return None
    for link in _unguarded(file):
        if module := imported(link[0], modules):
            return link, module
    return None


@once_for_file
def lost(file: RuleFile) -> str | None:
    """The package that torch no longer brings, of an import that nothing guards."""
    if not any(package.encode() in file.source.words for package in GONE):
        return None
    named = (name for link in _unguarded(file) for name in _modules(link[0]))
    return next((name for name in named if name in GONE and not file.facts.own.has_package(name, file.path)), None)


def _unguarded(file: RuleFile) -> Iterator[Link]:
    """The import statements of the first column."""
    for several in file.names.imports.values():
        for _, link in several:
            if link[1] is not None and link[1][0].__class__ is ast.Module:
                yield link


def _modules(statement: Node) -> list[str]:
    """The packages that a statement imports from."""
    names = [a.name for a in statement.names] if statement.__class__ is ast.Import else [statement.module or ""]
    return [] if getattr(statement, "level", 0) else [name.partition(".")[0] for name in names]
