"""Keeps LibCST's trees of statements: the same statement often stands in several files, and again in the ported file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    import libcst as cst

_MOST = 40_000  # characters of all statements that are kept; a tree takes some hundred bytes for each
_LONGEST = 2_000  # characters of one statement

Positions = TypeVar("Positions")


class SpareTrees(Generic[Positions]):
    """Trees by their text, each with the positions of its nodes if they are known. The oldest are dropped first."""

    def __init__(self) -> None:
        self._trees: dict[str, tuple[cst.Module, Positions | None]] = {}
        self._size = 0
        self._seen: list[tuple[str, cst.Module, Positions]] = []  # of the file that is analysed now
        self._seen_size = 0

    def __contains__(self, text: str) -> bool:
        return text in self._trees

    def take(self, text: str) -> tuple[cst.Module, Positions | None] | None:
        tree = self._trees.pop(text, None)
        self._size -= len(text) if tree else 0
        return tree

    def keep(self, text: str, module: cst.Module, positions: Positions | None = None) -> None:
        if len(text) > _LONGEST or text in self._trees:
            return
        self._trees[text] = module, positions
        self._size += len(text)
        while self._size > _MOST:
            oldest = next(iter(self._trees))
            del self._trees[oldest]
            self._size -= len(oldest)

    def give_back(self, text: str, module: cst.Module, positions: Positions) -> None:
        """Keeps a tree until `settle`. No other place of the same file may get it: facts are stored by its nodes."""
        if self._seen_size + len(text) <= _MOST:
            self._seen.append((text, module, positions))
            self._seen_size += len(text)

    def settle(self) -> None:
        """Makes the trees of a file available, when its analysis is done."""
        for tree in self._seen:
            self.keep(*tree)
        self._seen, self._seen_size = [], 0
