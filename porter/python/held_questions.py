"""`torch.cuda.is_available()` waits with a device that waits: where "cuda" stays, the answer has to stay False.

    if not torch.cuda.is_available():        if device.startswith("cuda"):  # stays
        device = "cpu"                           if torch.cuda.is_available():
    else:                                            ...
        device = "cuda"  # stays

Ported alone, the question would lead an NPU to a device that is none there, and not to the CPU as before.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from porter.finding import Held
from porter.python.index import Link, ancestors
from porter.python.source import Source

QUESTIONS = frozenset({"torch.cuda.is_available", "torch.cuda.device_count"})


def waits_for(link: Link | None, held: Mapping[int, Held], source: Source) -> Held | None:
    """The first place with a device that stays, in the branches of a question or in a condition around it."""
    child = link and link[0]
    for above, _ in ancestors(link):
        if isinstance(above, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            return None
        if isinstance(above, ast.If):
            start, end = source.span(above if child is above.test else above.test)
            if found := next((held[offset] for offset in sorted(held) if start <= offset < end), None):
                return found
        child = above
    return None
