"""`augment = ColorJitter.get_params(...)`, `augment(image)`: it gave a transform until torchvision 0.9, and gives numbers today."""

from __future__ import annotations

import ast

from porter.engine.rule import cst
from porter.engine.rule_file import Link, Node, RuleFile

JITTER = "torchvision.transforms.ColorJitter.get_params"


def is_called(file: RuleFile, original: cst.Call) -> bool:
    """Whether the result is called, or the name that holds it holds a function elsewhere."""
    link = file.scene.link(original)
    if link is None:
        return False
    call: Link = link[1]
    above: Link = call[1]
    if above[0].__class__ is ast.Call and above[0].func is call[0]:
        return True
    target: Node = above[0].targets[0] if above[0].__class__ is ast.Assign and len(above[0].targets) == 1 else None
    if target.__class__ is not ast.Name:
        return False
    place = (target, above)
    others = (getattr(b[1] and b[1][0], "value", None) for b in file.names.bindings(target.id, place))
    return any(map(_is_called, file.names.readers(target.id, place))) or any(o.__class__ is ast.Lambda for o in others)


def _is_called(use: Link) -> bool:
    above: Node = use[1][0]
    return above.__class__ is ast.Call and above.func is use[0]
