"""`self.torch.cuda.f()`: a name of torch.cuda behind an attribute that holds torch."""

from __future__ import annotations

from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile
from porter.python.held_questions import QUESTIONS
from porter.python.held_torch import held_name
from porter.rulebook.table import Tables


class HeldTorch(Rule):
    code = "PRT101"
    attributes = {"cuda"}

    def __init__(self, tables: Tables) -> None:
        self.moves = tables.moves

    def visit(self, original: cst.Attribute, updated: cst.Attribute, file: RuleFile) -> Answer:
        holder = original.value
        if not isinstance(holder, cst.Attribute) or not isinstance(holder.value, cst.Name):
            return None
        link = file.link(original)
        name = held_name(file, link[1]) if link else None
        move = self.moves.get(name or "")
        if name is None or move is None or move.stays or f"torch.cuda.{move.tail}" != name:
            return None
        new = file.style.name(move.tail or "", name.removeprefix("torch.cuda."), file)
        if new != f"{file.target.namespace}.{move.tail}":
            return None  # what the style writes needs a name that nothing binds here
        word = file.target.namespace.rpartition(".")[2]
        node = updated.with_changes(attr=updated.attr.with_changes(value=word))
        safe = move.fix == "safe" and name not in QUESTIONS
        return Hit(
            original,
            move.why,
            new=node,
            safe=safe,
            values=(("name", name), ("to", new)),
            loads=True,
            code=move.code,
            severity=move.severity,
            effort=move.effort,
        )
