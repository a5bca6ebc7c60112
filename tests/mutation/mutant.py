"""Mistakes to make on purpose in a copy of porter: each substitution applies exactly once, and the tests named must fail.

They are kept by room, in the files of `lists`: each has a list `MUTANTS`.
"""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import NamedTuple


class Mutant(NamedTuple):
    name: str
    path: str  # below porter/
    before: str
    after: str
    tests: str  # a file of tests/
    only: str  # what pytest -k selects of it


def load() -> list[Mutant]:
    """All that the files of `lists` hold."""
    found: list[Mutant] = []
    for file in sorted((Path(__file__).parent / "lists").glob("*.py")):
        spec = spec_from_file_location(f"mutants_{file.stem}", file)
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
        found += module.MUTANTS
    return found
