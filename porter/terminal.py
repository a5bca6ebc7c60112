"""Lines of text for a terminal, in colour where it takes it."""

from __future__ import annotations

import shutil
from typing import TextIO
from unicodedata import category, east_asian_width

from porter.regex import lazy

Line = list[tuple[str, str]]  # pieces of text with the style each is shown in
# a word with what follows it, or one character of a script without spaces: its punctuation begins no line
_PARTS = lazy(r"(?:(?![⺀-￯])\S)+[，。；：、）]*\s*|[⺀-￯][，。；：、）]*\s*|\s+")
_ASCII_PARTS = lazy(r"\S+\s*|\s+")  # the other pattern takes milliseconds to compile
_WIDE = lazy(r"[⺀-￯]")
_MARKS = "，。；：、！？（）《》“”—…"
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


def width(stream: TextIO) -> int:
    """Of a terminal; elsewhere the same for everybody."""
    return min(max(shutil.get_terminal_size().columns, 40), 120) if stream.isatty() else 100


def wrapped(text: str, width: int, most: int = 0) -> list[str]:
    """Lines that break between words, or between Chinese characters; of more than `most` lines the rest is cut."""
    lines = [""]
    for part in (_ASCII_PARTS if text.isascii() else _PARTS).findall(text):
        if lines[-1] and columns(lines[-1] + part.rstrip()) > width:
            lines.append("")
        lines[-1] += part if lines[-1] or not part.isspace() else ""
    lines = [line.rstrip() for line in lines]
    if most and len(lines) > most:
        last = lines[most - 1]
        while columns(last) > width - 1:
            last = last[: last.rfind(" ")] if " " in last else last[:-1]
        lines = [*lines[: most - 1], last.rstrip(" ,;:，；：") + "…"]
    return lines


def reflowed(text: str, width: int) -> list[str]:
    """Paragraphs, which empty lines part, in lines of this width; what is indented stays as it is."""
    lines: list[str] = []
    paragraph = ""
    for line in [*text.strip("\n").splitlines(), ""]:
        if line.strip() and not line.startswith("    "):
            paragraph = _joined(paragraph, line.strip())
            continue
        lines += wrapped(paragraph, width) if paragraph else []
        lines.append(line.rstrip())
        paragraph = ""
    return lines[:-1]


def _joined(above: str, below: str) -> str:
    """Two lines of a paragraph: no space between Chinese characters, nor beside their punctuation."""
    ends = (above[-1:], below[0])
    tight = any(end and end in _MARKS for end in ends) or all(map(_WIDE.match, ends))
    return above + below if tight else f"{above} {below}".lstrip()


def columns(text: str) -> int:
    """How many a terminal takes for `text`: two for a wide character, none for an accent that joins the one before."""
    if text.isascii():
        return len(text)
    return sum(2 if east_asian_width(c) in "WF" else 0 if category(c) in ("Mn", "Me") else 1 for c in text)


def pad(text: str, width: int, right: bool) -> str:
    space = " " * (width - columns(text))
    return space + text if right else text + space
