"""LibCST's trees of statements that were looked at: many stand in several files, and in the port of a file again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    import libcst as cst

_MOST = 40_000  # characters of statements, whose trees take some hundred bytes for each
_LONGEST = 2_000  # of one of them

Positions = TypeVar("Positions")


class SpareTrees(Generic[Positions]):
    """Trees by their text, each with where its nodes lie if that is known; the oldest go first."""

    def __init__(self) -> None:
        self._trees: dict[str, tuple[cst.Module, Positions | None]] = {}
        self._size = 0
        self._seen: list[tuple[str, cst.Module, Positions]] = []  # of the file that is looked at
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
        """No other place of the file gets the tree: what is known of its nodes is known by the nodes themselves."""
        if self._seen_size + len(text) <= _MOST:
            self._seen.append((text, module, positions))
            self._seen_size += len(text)

    def settle(self) -> None:
        """The file has been looked at."""
        for tree in self._seen:
            self.keep(*tree)
        self._seen, self._seen_size = [], 0
