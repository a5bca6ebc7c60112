"""Whether an API gets a tensor that lies on the host, where nothing falls back to the CPU."""

from __future__ import annotations

import ast
from typing import Any

from porter.engine.rule_file import RuleFile
from porter.python.assigned import values_of
from porter.python.index import Link, Node, chain_of, walk
from porter.training.placement import HOST


def is_handed_host(file: RuleFile, link: Link) -> bool:
    """Whether an API gets a tensor that was made on the host: `cell = torch.tensor(rows)`, `torch.linalg.inv(cell.mT)`."""
    scene: Any = file.scene
    link = chain_of(link)
    call: Node = link[1][0] if link[1] is not None else None
    if call.__class__ is not ast.Call or call.func is not link[0] or not call.args:
        return False
    if scene.natures.of(call.args[0], link) != HOST:
        return False
    named = [name for name in walk(call.args[0]) if name.__class__ is ast.Name]
    values = [call.args[0], *(value for name in named for value in values_of(scene.names, name, link))]
    # that gives what it gets, wherever it lies
    return not any(getattr(n, "attr", "") == "as_tensor" for value in values for n in walk(value))
