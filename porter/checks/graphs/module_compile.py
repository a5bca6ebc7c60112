"""`block.compile(fullgraph=True)`: a module that compiles itself, among all else that has a method of this name."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from porter.engine.rule import cst
from porter.engine.rule_file import Link, RuleFile

if TYPE_CHECKING:
    from porter.training.scene import Scene

ARGUMENTS = frozenset("fullgraph dynamic backend mode options disable".split())


def is_pattern(scene: Scene, link: Link) -> bool:
    """`re.compile(r"...")`, of which any file may have many: a module that compiles itself is handed options alone."""
    names, above = scene.file.names, link[1][0]
    module = link[0].__class__ is ast.Attribute and link[0].attr == "compile" and above.__class__ is ast.Call
    return bool(module and above.args and not (names.resolve(link[0], link) or "").startswith("torch."))


def is_of_module(call: cst.Call, file: RuleFile) -> bool:
    """`block.compile(fullgraph=True)`: a module that compiles itself, and nothing else that has such a method."""
    if not (file.names.torch or "torch" in file.names.imports) or file.receiver(call) in ("other", "own"):
        return False
    if file.source.says(b"def compile") or any(a.star == "*" or not a.star and not a.keyword for a in call.args):
        return False
    words = {a.keyword.value for a in call.args if a.keyword}
    spread = any(a.star and "compile" in file.text(a.value) for a in call.args)
    return words <= ARGUMENTS and bool(words or spread or file.receiver(call) == "torch")
