"""Tables of the README: their lines, the machine they are of, and where they go."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

START, END = "<!-- speed:start -->", "<!-- speed:end -->"


def table(titles: Sequence[str]) -> list[str]:
    return [line(*titles), "|" + "---|" * len(titles)]


def line(*cells: object) -> str:
    return "| " + " | ".join(map(str, cells)) + " |"


def machine() -> str:
    return f"Python {platform.python_version()}, libcst {version('libcst')}, {platform.system()} {platform.machine()}"


def write(readme: Path, text: str) -> None:
    old = readme.read_text(encoding="utf-8")
    head, found, rest = old.partition(START)
    _, closed, tail = rest.partition(END)
    if not found or not closed:
        raise SystemExit(f"benchmarks: {readme.name} has no {START} and {END} to write between")
    readme.write_text(f"{head}{START}\n{text}\n{END}{tail}", encoding="utf-8")
