"""`apex.amp`: mixed precision from before torch had it."""

from __future__ import annotations

from porter.checks.apex.scaler import native_amp
from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile

KINDS = {
    "initialize": "initialize",
    "scale_loss": "scale-loss",
    "master_params": "master-params",
    "state_dict": "state",
    "load_state_dict": "state",
    **{f"{kind}_function": "cast" for kind in ("half", "float", "promote", "bfloat16")},
    **{f"register_{kind}_function": "cast" for kind in ("half", "float", "promote", "bfloat16")},
    "init": "initialize",
    "disable_casts": "cast",
    "_amp_state": "private",
}
_WHOLE = "apex.amp"


class ApexAmp(Rule):
    code = "PRT350"
    references = frozenset(
        [_WHOLE, *(f"{_WHOLE}.{module}{name}" for module in ("", "frontend.", "handle.") for name in KINDS)]
    )

    def visit(self, original: cst.Attribute | cst.Name, updated: cst.Attribute | cst.Name, file: RuleFile) -> Answer:
        if file.name(original) == _WHOLE:
            handed = file.around.argument(original) and not file.imported.optional(original)
            return Hit(original, "handed") if handed else None
        function = (file.name(original) or "").rpartition(".")[2]
        values, severity = (("name", function),), "note" if file.imported.optional(original) else None
        ported = native_amp(file)
        more = ported.pieces.get(file.span(original)[0], ()) if ported else ()
        if ported and more and function == "initialize":
            return Hit(original, "ported", values=(*values, ("count", str(ported.count))), more=more, loads=True)
        return Hit(original, KINDS[function], values=values, severity=severity, more=more, loads=bool(more))
