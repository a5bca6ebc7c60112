"""Finds the loops around a place."""

from __future__ import annotations

import ast

from porter.python.index import FUNCTIONS, Link, Node, ancestors
from porter.training import frequency

LOOPS = (ast.For, ast.AsyncFor, ast.While)


def loops_around(link: Link) -> list[Node]:
    """The loops around a place in the same function, innermost first."""
    loops: list[Node] = []
    for above in ancestors(link):
        if above[0].__class__ in FUNCTIONS:
            break
        if above[0].__class__ in LOOPS:
            loops.append(above[0])
    return loops


def over_epochs(link: Link) -> ast.For | None:
    """The loop over epochs around a place."""
    return next((loop for loop in loops_around(link) if frequency.counts_epochs(loop)), None)
