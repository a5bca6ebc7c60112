"""The configuration of detectron2 says `cuda` until somebody sets `cfg.MODEL.DEVICE`."""

from __future__ import annotations

import ast

from porter.engine.rule_file import Link, RuleFile
from porter.python.blocks import place

_GET_CFG = "detectron2.config.get_cfg"


def keeps_default(file: RuleFile) -> bool:
    """Whether some configuration is made here whose device is not set, whatever happens, in the block that makes it."""
    made = file.meaning.mentions.of(frozenset({_GET_CFG}))
    return not made or not all(_is_set(link) for link in made)


def _is_set(link: Link) -> bool:
    """`cfg = get_cfg()`, and further down `cfg.MODEL.DEVICE = ...`."""
    node, (call, above) = link
    if not isinstance(call, ast.Call) or call.func is not node or above is None:
        return False
    statement, owner = above
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1 or owner is None:
        return False
    sought = f"{ast.unparse(statement.targets[0])}.MODEL.DEVICE"
    field, index = place(owner[0], statement)
    block = getattr(owner[0], field, ())
    return any(
        isinstance(later, ast.Assign) and any(ast.unparse(target) == sought for target in later.targets)
        for later in block[index:]
    )
