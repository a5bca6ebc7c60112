"""Lines of text for a terminal, in colour where it takes it."""

from __future__ import annotations

from typing import TextIO
from unicodedata import east_asian_width

Line = list[tuple[str, str]]  # pieces of text with the style each is shown in
STYLES = {
    "blocker": "bold red",
    "wrong": "red",
    "slow": "yellow",
    "note": "blue",
    "auto": "green",
    "review": "yellow",
    "manual": "magenta",
    "optional": "dim",
}


def plain(rows: list[Line]) -> str:
    return "".join("".join(text for text, _ in row).rstrip() + "\n" for row in rows)


def show(rows: list[Line], stream: TextIO) -> None:
    """In colour where `stream` is a terminal that takes it (rich obeys NO_COLOR), plain elsewhere."""
    if not stream.isatty():
        stream.write(plain(rows))
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(file=stream, highlight=False, soft_wrap=True)
    for row in rows:
        console.print(Text.assemble(*row))


def columns(text: str) -> int:
    return sum(2 if east_asian_width(c) in "WF" else 1 for c in text)


def pad(text: str, width: int, right: bool) -> str:
    space = " " * (width - columns(text))
    return space + text if right else text + space
