"""The calls of a file, as the way from a step to what it runs in other files asks for them."""

from __future__ import annotations

from typing import NamedTuple


class Row(NamedTuple):
    """One call of a function by a name that is asked for."""

    home: str  # where it stands: "function" or "Class.method"
    name: str
    full: str  # of a function that is imported
    owner: str  # of a method: a class of the file, or the full name of another's
    on_self: bool  # it is `self` whose method is called
    always: bool  # a step calls it for every batch, whoever calls the function around
    hosts: tuple[str, ...]  # what is handed over after it was read back: keywords, and places as numbers
