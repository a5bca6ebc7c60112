"""What all rules about fused operators share: notes for a person, in code that trains, where the target has the operator."""

from __future__ import annotations

from typing import ClassVar

from porter.checks.rule import Hit, Rule


class Opportunity(Rule):
    offers: ClassVar[str | None] = None  # the name of torch_npu that the finding speaks of

    def visit(self, original, updated, file):
        if file.scene.apart or self.offers and not file.has(self.offers):
            return None
        found = self.find(original, file)
        if found is None:
            return None
        at, why, values = found
        return Hit(at, why, optional=True, values=(*values, *((("new", self.offers),) if self.offers else ())))

    def find(self, original, file) -> tuple | None:
        """(node, message, values) of an opportunity."""
        raise NotImplementedError
