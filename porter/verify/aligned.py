"""Rows of cells under each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from porter.terminal import columns, pad


def aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(columns(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        yield "  ".join(pad(cell, width, False) for cell, width in zip(row, widths)).rstrip()
