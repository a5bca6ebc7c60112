"""What a Trainer of Lightning is told besides its accelerator: the strategy, and the precision."""

from __future__ import annotations

from porter.engine.rule import Hit, cst
from porter.engine.rule_file import RuleFile

STRATEGIES = {"ddp": "DDPStrategy", "fsdp": "FSDPStrategy"}
MIXED = frozenset({"16", "bf16", "16-mixed", "bf16-mixed"})


def started_on_gloo(strategy: cst.BaseExpression | None) -> list[Hit]:
    """`strategy="ddp"`: its process group is of the kind that Lightning knows for the device."""
    name = strategy.raw_value if isinstance(strategy, cst.SimpleString) else ""
    kind = next((new for old, new in STRATEGIES.items() if name.startswith(old)), None)
    return [Hit(strategy, "strategy", values=(("new", kind), ("old", name)))] if kind and strategy else []


def mixed(precision: cst.BaseExpression | None, file: RuleFile) -> list[Hit]:
    """`precision=16`, and `precision=args.precision`, which may be that."""
    if precision is None or file.text(precision) == "None":
        return []
    written = [precision.body, precision.orelse] if isinstance(precision, cst.IfExp) else [precision]
    is_written = all(isinstance(one, (cst.Integer, cst.SimpleString)) for one in written)
    if is_written and MIXED.isdisjoint(file.text(one).strip("'\"") for one in written):
        return []
    old = file.text(precision)
    values = ("new", "bf16-mixed" if "bf16" in old else "16-mixed"), ("old", old)
    return [Hit(precision, "mixed", values=values, severity=None if is_written else "note")]
