"""`model = Plain(...)` on one way and `model = Own(...)` on another: of the two classes, only one defines `cuda()` itself.

It is asked where `file.receiver()` has not said already that the object is torch's, as it does of a parameter `model: nn.Module`."""

from __future__ import annotations

import ast
from typing import Any

from porter.engine.rule import Hit, cst, named
from porter.engine.rule_file import RuleFile
from porter.python.evidence import call_name
from porter.python.index import Link, Node


def _own_classes(file: RuleFile) -> frozenset[str]:
    """The names of the classes of the project that define `cuda()` themselves."""
    return frozenset(entry.rpartition(":")[2] for entry in file.facts.own.cuda)


def kept_call(call: cst.Call, why: str, file: RuleFile) -> Hit:
    """What is said of a call that stays where GPUs run it as well. `why`: what is known of the object."""
    if why == "own" and (classes := _another_class(call, file)):
        return Hit(call, "own-or-not", values=named(own=classes[0], other=classes[1]))
    return Hit(call, "own-kept" if why == "own" else why, values=named(new=".to()"))


def _another_class(call: cst.Call, file: RuleFile) -> tuple[str, str] | None:
    """A class that defines `cuda()` itself and one that does not, where the name before `.cuda()` may hold either."""
    link = file.scene.link(call)
    moved: Node = link[0].value if link is not None and link[0].__class__ is ast.Attribute else None
    if link is None or moved.__class__ is not ast.Name:
        return None
    own = _own_classes(file)
    scene: Any = file.scene
    reaching = scene.file.receivers.reaching(file.names.bindings(moved.id, link), link)
    made = [name for binding in reaching if (name := _made(binding))]
    ones, others = [name for name in made if name in own], [name for name in made if name not in own]
    return (ones[0], others[0]) if ones and others else None


def _made(binding: Link) -> str:
    """The class that an assignment makes an object of; "" where it does not say one. Classes begin with a capital."""
    above = binding and binding[1] and binding[1][0]
    if above.__class__ is not ast.Assign or above.value.__class__ is not ast.Call:
        return ""
    name = call_name(above.value.func)
    return name if name[:1].isupper() else ""
