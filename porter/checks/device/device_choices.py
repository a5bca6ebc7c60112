"""`choices=["cuda", "cpu"]`: the list gains the new device and keeps the old one, which scripts may still pass. Where the file
compares the option with the old one, nothing refuses it later: the new one takes its place."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from porter.checks.choices import elements, is_choice, string, with_other, with_twin
from porter.checks.device.kept_comparisons import kept_as_it_is
from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import Node, RuleFile
from porter.native.guarded import guarded
from porter.python.evidence import constant


class DeviceChoices(Rule):
    code = "PRT123"
    nodes = ("List", "Tuple", "Set", "Subscript")
    text = r"\bLiteral\s*\[[^\]]*cuda"  # what Subscript is asked for: a type that lists the values

    def visit(self, original: cst.List | cst.Tuple | cst.Set | cst.Subscript, updated: Any, file: RuleFile) -> Answer:
        before = elements(original)
        index = next((i for i, e in enumerate(before) if is_choice(string(e), "cuda", "device", file)), None)
        if index is None or len(before) != len(elements(updated)):
            return None
        device, old = file.target.device, string(before[index])
        if not file.facts.roads.device:  # nothing in the project reads the option but what prints it
            return Hit(old, "unread")
        options = file.around.options(old)
        script = next((s for o in options if (s := file.facts.launch.passes(o, "cuda"))), None)
        values = (("new", f'"{device}"'), ("script", script or ""))
        certain = (literal := file.literal(old)) is not None and literal.certain
        why = "choices-passed" if script else "choices" if certain else "choices-uncertain"
        if why == "choices" and file.style.one_world and _is_compared(options, file):
            return Hit(old, "choices-compared", new=with_other(updated, index, device), safe=True, values=values)
        return Hit(old, why, new=with_twin(updated, index, device), safe=script is None and certain, values=values)


def _is_compared(options: Sequence[str], file: RuleFile) -> bool:
    """Whether the file asks an option for the old device, `if args.device == "cuda":`, in a question that is ported."""
    fields = {option.lstrip("-").replace("-", "_") for option in options}
    asked = (
        link for link in file.buckets[ast.Compare] if any(getattr(s, "attr", "") in fields for s in _sides(link[0]))
    )
    olds = ((side, link) for link in asked for side in _sides(link[0]) if constant(side) == "cuda")
    return any(not kept_as_it_is(file, old) and not guarded(file, old) for old in olds)


def _sides(node: Node) -> tuple[Node, Node]:
    return node.left, node.comparators[0]
