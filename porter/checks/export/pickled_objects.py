"""`torch.load` of a checkpoint that holds more than tensors and plain values: from torch 2.6 on it refuses."""

from __future__ import annotations

import re

from porter.checks.build import positional, with_keyword
from porter.checks.rule import Hit, Rule, cst

_SINCE = (2, 6)
_NAMES = rb"(?:args|opts?|cfg|hparams|flags|FLAGS)"
# an object with settings goes into the checkpoint, or something is asked of it that no dictionary has
_HELD = re.compile(
    rb"['\"]" + _NAMES + rb"['\"]\s*:\s*(?:self\.)?(" + _NAMES + rb")\s*[,})\n]"
    rb"|\[\s*['\"](" + _NAMES + rb")['\"]\s*\]\.(?!(?:get|keys|items|values|update|pop|copy|setdefault)\b)\w"
)


class PickledObjects(Rule):
    code, slug = "PRT905", "pickled-objects"
    calls = {"torch.load"}

    def visit(self, original, updated, file):
        if file.target.torch < _SINCE or file.tested or any(a.star for a in original.args):
            return None
        if any(positional(original, None, (name,))[1] is not None for name in ("weights_only", "pickle_module")):
            return None
        found = _HELD.search(file.source.utf8)
        if found is None:
            return None
        name = (found[1] or found[2]).decode()
        new = with_keyword(updated, "weights_only", cst.Name("False"))
        return Hit(original.func, "settings", new=new, values=(("name", name),))
