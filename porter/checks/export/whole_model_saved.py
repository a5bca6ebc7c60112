"""`torch.save(model, path)`: the file holds classes, device and all, and only this program can read it."""

from __future__ import annotations

import re

from porter.checks.export import prefilters
from porter.engine.nodes import chain
from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile

MODEL = re.compile(
    r"(?i)^(?:\w*_)?(?:model|net|network|generator|discriminator|encoder|decoder|backbone|classifier)(?:_\w+)?$|^net[DG]$"
)


class WholeModelSaved(Rule):
    code = "PRT902"
    edits = False
    calls = {"torch.save"}
    only = staticmethod(prefilters.names_model)

    def visit(self, original: cst.Call, updated: cst.Call, file: RuleFile) -> Answer:
        if file.tested or not original.args or original.args[0].star or original.args[0].keyword is not None:
            return None
        words = chain(original.args[0].value)
        name = words[-2] if len(words) > 1 and words[-1] == "module" else words[-1] if words else ""
        if not MODEL.match(name):
            return None
        text = file.text(original.args[0].value)
        pattern = (
            rb"\b"
            + re.escape(text).encode()
            + rb"\.(?:parameters|train|eval|state_dict|load_state_dict)\(|\b"
            + re.escape(text).encode()
            + rb"\("
        )
        used = file.source.says(re.compile(pattern))
        return Hit(original.args[0].value, "module", values=(("name", text),)) if used else None
