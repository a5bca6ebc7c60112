"""Describes a call in a file, as plain values that can be cached."""

from __future__ import annotations

from typing import NamedTuple

ANY = "?"  # the owner of a method of an object whose class is not known


class Row(NamedTuple):
    """One call of a function."""

    home: str  # the function around the call: "function" or "Class.method"
    name: str
    full: str  # the full name of an imported function
    owner: str  # of a method: a class of the file, the full name of an imported class, or ANY
    on_self: bool  # a method of `self`
    always: bool  # the call runs for every batch, whoever calls the function around
    hosts: tuple[str, ...]  # arguments that were read back to the host: keywords, and positions as numbers
