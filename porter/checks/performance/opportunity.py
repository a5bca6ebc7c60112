"""What all rules about fused operators share: notes for a person, in code that trains, where the target has the operator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile

if TYPE_CHECKING:
    from porter.finding import Change
    from porter.values.patterns import Match

Seen: TypeAlias = "tuple[cst.CSTNode, str, tuple[tuple[str, str], ...]]"  # node, message, values

FUSING = frozenset({"A2", "A3", "950"})  # chips with the fused kernels of transformers, forward and backward


class Opportunity(Rule):
    edits = "fuse"
    offers: ClassVar[str | None] = None  # the name of torch_npu that the finding speaks of

    def visit(self, original: Any, updated: Any, file: RuleFile) -> Answer:
        if file.scene.apart or self.offers and not file.session.has(self.offers):
            return None
        opportunity = self.find(original, file)
        if opportunity is None:
            return None
        node, why, values = opportunity
        values = (*values, *((("new", self.offers),) if self.offers else ()))
        edits = self.fuse(original, file) if file.session.fuse and file.style.loads else ()
        return Hit(
            node, why, optional=True, values=values, more=edits, loads=any(b"torch_npu." in e.new for e in edits)
        )

    def fuse(self, original: Any, file: RuleFile) -> tuple[Change, ...]:
        """What writes the operator in, where that can be shown to be right."""
        matches = file.matches(original, self.patterns)
        if not matches:
            return ()
        from porter.values.fuse import every

        return tuple(every(file, matches))

    def find(self, original: Any, file: RuleFile) -> Seen | None:
        """(node, message, values) of an opportunity."""
        match = next(iter(file.matches(original, self.patterns)), None)
        new = self.offers or match and self.offered(match, file)
        if match is None or new is None:
            return None
        return original, self.told(match, file), () if self.offers else (("new", new),)

    def told(self, match: Match, file: RuleFile) -> str:
        """The message; of what `--fuse` leaves alone for its types, the one that names the condition."""
        from porter.values.dtypes import FLOAT32
        from porter.values.fuse import has_one_type

        return match.why if has_one_type(file, match, (FLOAT32,)) else f"{match.why}-typed"

    def offered(self, match: Match, file: RuleFile) -> str | None:
        """What makes it in one, where that is not the same for all of them."""
        raise NotImplementedError
