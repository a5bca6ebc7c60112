"""`apex.amp`: mixed precision from before torch had it."""

from __future__ import annotations

from porter.checks.rule import Hit, Rule

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
}


class ApexAmp(Rule):
    code, slug = "PRT350", "apex-amp"
    references = frozenset(f"apex.amp.{module}{name}" for module in ("", "frontend.", "handle.") for name in KINDS)

    def visit(self, original, updated, file):
        last = file.name(original).rpartition(".")[2]
        optional = file.around.optional(original)
        return Hit(original, KINDS[last], values=(("name", last),), severity="note" if optional else None)
