"""Which files import a package for names alone."""

from __future__ import annotations

from typing import NamedTuple


class Bystanders(NamedTuple):
    """Files that import a package for names, base classes and decorators alone. `speaker`: the file that reports it for all."""

    package: str
    speaker: str
    paths: tuple[str, ...]
