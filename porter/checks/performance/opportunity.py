"""What all rules about fused operators share: a note for a person, and an edit with `--fuse`. None in files that are tests,
measurements or exports (`scene.apart`), and none where the target lacks the operator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile

if TYPE_CHECKING:
    from porter.finding import Change
    from porter.values.patterns import Match

Seen: TypeAlias = "tuple[cst.CSTNode, str, tuple[tuple[str, str], ...]]"  # node, message, values

# chips that have the fused kernels of attention and its kin in both directions; rules of the kind ask for them
FUSING = frozenset({"A2", "A3", "950"})


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
        """The key of the message. It ends in "-typed" where the operator gives the type of the computation only in a program that
        is all float32, and the project speaks of shorter types: `--fuse` leaves that alone, and the message names the condition."""
        from porter.values.dtypes import IF_ALL_FLOAT32
        from porter.values.fuse import keeps_the_type

        return match.why if keeps_the_type(file, match, (IF_ALL_FLOAT32,)) else f"{match.why}-typed"

    def offered(self, match: Match, file: RuleFile) -> str | None:
        """The operator that computes the match in one call, for a rule with several (`offers` is None); None if there is none."""
        raise NotImplementedError
