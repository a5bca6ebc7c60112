"""What one file says, as rows: an earlier run may have made them of the same bytes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any, TypeAlias

Rows: TypeAlias = tuple[Any, ...]  # of plain values
Remember = Callable[[str, Callable[[], Rows]], Rows]  # of a key that tells all that they depend on


def anew(key: str, make: Callable[[], Rows]) -> Rows:
    return make()


def rows_of(
    data: bytes, question: str, about: object, make: Callable[[], Rows], remember: Remember, path: str = ""
) -> Rows:
    """`about`: all that the answer depends on beside the bytes, in one order; `path`: of the file, if that matters."""
    if remember is anew:
        return make()
    return remember("\0".join((question, path, hashlib.sha256(data).hexdigest(), repr(about))), make)
