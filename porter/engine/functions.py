"""What is known of functions of the project, for the files that call them by a name of theirs, and of what its tests do with torch's."""

from __future__ import annotations

from typing import NamedTuple

from porter.files.paths import folder_of


def _is_at(known: tuple[str, str], name: str, path: str) -> bool:
    """Whether a name, as the file at `path` knows it, means this (file, function)."""
    module, _, function = name.rpartition(".")
    place, home = module.lstrip(".").replace(".", "/"), known[0]
    if function != known[1]:
        return False
    if not place:
        return home == path or home.startswith(folder_of(path))
    return f"/{place}/" in f"/{home.removesuffix('.py')}/"


class Functions(NamedTuple):
    # (file, function) of those that answer which kind of device a machine has, and that know NPUs
    answering: tuple[tuple[str, str], ...] = ()
    # (file, function or class, parameter that is a device, its position or -1) of those that are given the index of a device;
    # "" for one without such a parameter
    given: tuple[tuple[str, str, str, int], ...] = ()
    moving: tuple[str, ...] = ()  # the files with a function `cuda` of their own
    patched: tuple[str, ...] = ()  # those of torch.cuda that tests put something in the place of: "synchronize"
    # as `given`, of those that are given "cuda" or "nccl" by position
    worded: tuple[tuple[str, str, str, int], ...] = ()
    # (method, parameter, position) of methods that are given one of these by position, whatever class the object has
    methods: tuple[tuple[str, str, int], ...] = ()

    def answers(self, name: str, path: str) -> bool:
        """Whether a name, as the file at `path` knows it, means one of `answering`."""
        return any(_is_at(known, name, path) for known in self.answering)

    def moves(self, name: str, path: str) -> bool:
        """Whether a name ending in `cuda` means the function of one of `moving`."""
        return any(_is_at((home, "cuda"), name, path) for home in self.moving)

    def is_given(self, name: str, path: str) -> bool:
        """The same for `given`."""
        return any(_is_at(row[:2], name, path) for row in self.given)

    def takes(self, name: str, path: str, where: str | int) -> bool:
        """Whether it takes what it is given by a keyword or at a position for a device."""
        return any(where in row[2:] and _is_at(row[:2], name, path) for row in self.given)

    def of_method(self, name: str, where: str | int) -> str:
        """The parameter with this name, or at this position, of one of `methods`; "" where that is no device and no backend."""
        return next((row[1] for row in self.methods if row[0] == name and where in row[1:]), "")

    def parameter(self, name: str | None, path: str, position: int) -> str:
        """The parameter at a position of one of `worded`, where all functions that the name may mean agree; else ""."""
        rows = [row for row in self.worded if name and _is_at(row[:2], name, path)]
        at_it = {row[:2]: row[2] for row in rows if row[3] == position}
        called = {at_it.get(row[:2], "") for row in rows}
        return called.pop() if len(called) == 1 else ""
