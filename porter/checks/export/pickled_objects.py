"""`torch.load` of a checkpoint that holds more than tensors and plain values: from torch 2.6 on it refuses."""

from __future__ import annotations

import re

from porter.engine.nodes import positional, with_keyword
from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile

_SINCE = (2, 6)
_NAMES = frozenset(name.encode() for name in "args opt opts cfg hparams flags FLAGS".split())
_OBJECT = rb"(?:self\.)?(?:%s)\s*[,})\n]" % b"|".join(sorted(_NAMES))
_METHODS = rb"(?:get|keys|items|values|update|pop|copy|setdefault)\b"  # of a dictionary


def _held(file: RuleFile) -> str | None:
    """The key under which an object with settings goes into a checkpoint, or of which something is asked that no dictionary has."""
    for name in sorted(_NAMES & file.source.words):
        pattern = name + rb"['\"]\s*(?::\s*" + _OBJECT + rb"|\]\.(?!" + _METHODS + rb")\w)"
        if file.source.says(re.compile(pattern)):
            return name.decode()
    return None


class PickledObjects(Rule):
    code = "PRT905"
    calls = {"torch.load"}

    def visit(self, original: cst.Call, updated: cst.Call, file: RuleFile) -> Answer:
        if file.target.torch < _SINCE or file.tested or any(a.star for a in original.args):
            return None
        if any(positional(original, None, (name,)) != (None, None) for name in ("weights_only", "pickle_module")):
            return None
        name = _held(file)
        if name is None:
            return None
        new = with_keyword(updated, "weights_only", cst.Name("False"))
        return Hit(original.func, "settings", new=new, values=(("name", name),))
