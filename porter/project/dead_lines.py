"""Says which lines of a file stand in branches that never run: whatever is named there is not used by them."""

from __future__ import annotations

from porter.files.paths import is_test
from porter.project.never_run import branches
from porter.project.off_options import OffOptions
from porter.project.untaken import Untaken
from porter.project.unused import Uses


class DeadLines:
    def __init__(self, uses: Uses, options: OffOptions, untaken: Untaken) -> None:
        self._uses, self._options, self._untaken = uses, options, untaken
        self._known: dict[tuple[str, int], bool] = {}

    def has(self, path: str, line: int) -> bool:
        """Whether a line is never reached: by its condition, with the settings of the project, or by its callers."""
        if (path, line) not in self._known:
            self._known[path, line] = self._is_dead(path, line)
        return self._known[path, line]

    def _is_dead(self, path: str, line: int) -> bool:
        tree = None if is_test(path) or self._uses.may_be_any(path) else self._uses.tree(path)
        if tree is None:
            return False
        is_open = self._uses.is_installed(path)
        if any(first <= line <= last for first, last in branches(tree)):
            return True
        is_off = not is_open and self._options.at(tree, path, line)
        return bool(is_off or self._untaken.at(tree, self._uses.text(path), path, line, is_open))
