"""The CUDA extension of the project without which a file cannot even be imported."""

from __future__ import annotations

import ast

from porter.engine.rule_file import Link, RuleFile
from porter.native.uses import imported
from porter.python.blocks import once_for_file


@once_for_file
def required(file: RuleFile) -> tuple[Link, str] | None:
    """The import that nothing guards, and the extension; None where there is none."""
    modules = file.facts.native.modules
    if not any(module.encode() in file.source.words for module in modules):
        return None
    statements = (link for several in file.names.imports.values() for _, link in several)
    for link in statements:
        if link[1] is not None and link[1][0].__class__ is ast.Module and (module := imported(link[0], modules)):
            return link, module
    return None
