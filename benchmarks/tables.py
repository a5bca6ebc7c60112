"""Tables of the documents: their lines, the machine they are of, and where they go."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path


def table(titles: Sequence[str]) -> list[str]:
    return [line(*titles), "|" + "---|" * len(titles)]


def line(*cells: object) -> str:
    return "| " + " | ".join(map(str, cells)) + " |"


def machine() -> str:
    return f"Python {platform.python_version()}, libcst {version('libcst')}, {platform.system()} {platform.machine()}"


def write(page: Path, text: str, name: str) -> None:
    """Between the marks of that name."""
    start, end = f"<!-- {name}:start -->", f"<!-- {name}:end -->"
    head, found, rest = page.read_text(encoding="utf-8").partition(start)
    _, closed, tail = rest.partition(end)
    if not found or not closed:
        raise SystemExit(f"benchmarks: {page.name} has no {start} and {end} to write between")
    page.write_text(f"{head}{start}\n{text}\n{end}{tail}", encoding="utf-8")
