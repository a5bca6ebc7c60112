"""What becomes of the hits of rules: applied, told, or held back."""

from __future__ import annotations

from dataclasses import dataclass, replace

import libcst as cst

from porter.engine.rule import Hit, Rule
from porter.finding import Change
from porter.python.units import Piece, Unit


@dataclass(slots=True)
class Outcome:
    """A hit and what became of it."""

    rule: Rule
    hit: Hit
    node: cst.CSTNode | None  # the visited node, which `hit.new` replaces
    piece: Piece | Cut
    applied: bool = False
    edit: tuple[Change, ...] = ()
    edits: bool = False  # the hit has an edit, whether it is applied or not
    place: tuple[int, int] = (0, 0)  # the span of `hit.at`

    def let_go(self) -> None:
        """Drops all nodes of LibCST: the trees of a whole file would fill the memory."""
        if isinstance(self.piece, Piece):
            self.place = self.piece.span(self.hit.at)
        self.hit, self.node = replace(self.hit, at=None, new=None), None
        self.piece = Cut(self.piece.unit, self.piece.exact)


@dataclass(frozen=True, slots=True)
class Cut:
    """A piece without its trees."""

    unit: Unit
    exact: bool
