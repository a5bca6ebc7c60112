"""`x.to(device).share_memory_()`: device memory that several processes are to see. `module.share_memory()` raises on an NPU."""

from __future__ import annotations

import ast

from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import Link, RuleFile
from porter.python.assigned import by_target
from porter.training.transfers import is_moved

_MODULES = "share_memory"  # a tensor's has an underscore at its end
_SHARED_FROM = (2, 13)  # before, torch_npu refuses it of modules on an NPU


class DeviceShared(Rule):
    code = "PRT213"
    edits = False
    methods = {"share_memory_", _MODULES}

    def visit(self, original: cst.Call, updated: cst.Call, file: RuleFile) -> Answer:
        link = file.scene.link(original)
        if link is None or link[0].__class__ is not ast.Attribute:
            return None
        refused = link[0].attr == _MODULES and file.target.torch < _SHARED_FROM
        if is_moved(link[0].value):
            return Hit(original, "module" if refused else "shared")
        return Hit(original, "module") if refused and _was_moved(file, link) else None


def _was_moved(file: RuleFile, link: Link) -> bool:
    """Whether all that a file sets this object to is moved: `self.models["a"] = Net().to(device)`."""
    values = by_target(file).get(ast.unparse(link[0].value), [])
    return bool(values) and all(map(is_moved, values))
