"""Puts the files near one in front of the others: mostly the first of them answers."""

from __future__ import annotations


class NearFirst:
    """Kept for the folder that was asked last, as several questions in a row are about one file."""

    def __init__(self) -> None:
        self._folder, self._known = "", dict[int, list[str]]()

    def of(self, paths: list[str], folder: str) -> list[str]:
        """The paths, those in the folder first. Lists of one length are the same list."""
        if self._folder != folder:
            self._folder, self._known = folder, {}
        if len(paths) not in self._known:
            near = [path for path in paths if path.startswith(folder)]
            self._known[len(paths)] = [*near, *(path for path in paths if not path.startswith(folder))]
        return self._known[len(paths)]
