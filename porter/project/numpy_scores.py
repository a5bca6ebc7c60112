"""Which scores under keys of dictionaries are numbers of numpy: a checkpoint with one is refused by `torch.load` from 2.6 on.

A score counts where the code that computes it is read: `"best_iou": best`, if `best = validate(...)["iou"]` and numpy makes that.
A score that goes through `float` is plain.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from porter.project.bound_values import SCORE_WORDS
from porter.project.numpy_values import NumpyValues
from porter.python.index import on_lines
from porter.regex import lazy

_KEEPS = lazy(rb"[\"']\w*(?:%s)\w*[\"']\]?[ \t]*[:=][ \t]*(?:self\.)?[A-Za-z_]" % SCORE_WORDS.encode())
Spot = tuple[int, int]  # the line and the column at which a value begins


def numpy_scores(values: NumpyValues, saving: Iterable[str]) -> dict[str, frozenset[Spot]]:
    """By file, where the scores stand that numpy computes, of files that save."""
    asking = [path for path in saving if _KEEPS.search(values.texts[path])] if values.is_used() else []
    found = {path: frozenset(_spots(path, values)) for path in asking}
    return {path: spots for path, spots in found.items() if spots}


def _spots(path: str, values: NumpyValues) -> Iterator[Spot]:
    module = values.module(path)
    saying = [number for number, line in enumerate(values.texts[path].splitlines(), 1) if b"save" in line]
    for value, at in module.scores if module else ():
        # a function without the word saves no dictionary that it makes (saved_dictionaries.py)
        if all(on_lines(function, saying) for function in at.functions[-1:]) and values.places([(value, at)]):
            yield value.lineno, value.col_offset
