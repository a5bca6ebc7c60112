"""Cheap looks at a place before LibCST sees its statement: a rule names one of them as its `only`.

A look only drops places, and lets through all that its rule may tell. The rule decides, by names of its own.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, cast

from porter.python.evidence import constant
from porter.python.host_loads import PLACE, is_set_sometimes
from porter.python.index import Link, Node
from porter.regex import lazy

if TYPE_CHECKING:
    from porter.engine.rule_file import RuleFile
    from porter.training.scene import Scene

# a part of each name that `MODEL` in whole_model_saved.py matches, which decides what PRT902 tells
_MODEL = lazy(r"(?i)model|net|generator|discriminator|encoder|decoder|backbone|classifier")


def is_anywhere(scene: Scene, link: Link) -> bool:
    """A load that does not say where to."""
    call, file = link[1][0], cast("RuleFile", scene.file)
    if getattr(link[0], "attr", getattr(link[0], "id", "")) != "load":  # from an address: the place is the third one
        return not file.tested and len(call.args) < 3 and {k.arg for k in call.keywords}.isdisjoint((PLACE, None))
    return (
        not file.tested
        and len(call.args) < 2
        and "map_location" not in {k.arg for k in call.keywords}
        or any(
            constant(a) is None
            and a.__class__ is ast.Constant
            or a.__class__ is ast.Name
            and is_set_sometimes(file, a, link)
            for a in [*call.args[1:2], *(k.value for k in call.keywords if k.arg == PLACE)]
        )
    )


def names_model(scene: Scene, link: Link) -> bool:
    first: Node = link[1][0].args[0] if link[1][0].args else None
    saved = first.values if first.__class__ is ast.Dict else [first]
    named = (n for n in saved if n.__class__ in (ast.Name, ast.Attribute))
    return not scene.file.tested and any(_MODEL.search(ast.unparse(n)) for n in named)
