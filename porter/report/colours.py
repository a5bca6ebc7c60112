"""Syntax colours as run lengths: "k6.1n5" is a keyword of six characters, one plain one, and a number of five."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

# a character for each kind of token; style.css says what colour it has
KINDS = (
    ("Comment", "c"),
    ("Literal.String", "s"),
    ("Literal.Number", "n"),
    ("Keyword", "k"),
    ("Operator.Word", "k"),
    ("Name.Decorator", "d"),
    ("Name.Function", "f"),
    ("Name.Class", "f"),
    ("Name.Builtin", "b"),
)

# pygments finds a lexer by going over the patterns of all it has, and over every package that is installed
LEXERS = {
    "python": "py pyi pyw",
    "bash": "bash ksh sh",
    "yaml": "yaml yml",
    "json": "json",
    "toml": "toml",
    "ini": "cfg ini",
    "cuda": "cu cuh",
    "cpp": "c++ cc cpp cxx h++ hh hpp hxx",
    "c": "c h",
    "make": "mak mk",
    "text": "txt",
    # pygments finds no lexer by these suffixes; a test asks it for all others
    "": "conf containerfile dockerfile hip in ipynb jsonc lsf pbs sbatch slurm",
}
_BY_SUFFIX = {suffix: name for name, suffixes in LEXERS.items() for suffix in suffixes.split()}


def coloured(path: str, rows: tuple[str, ...]) -> list[str]:
    """The run lengths of every row; rows that are together in the file see each other's open strings."""
    return _coloured(_suffix(path), rows) if rows else []


def coloured_whole(path: str, rows: tuple[str, ...]) -> list[str]:
    """The same of a file that is asked about once, and not kept."""
    return _coloured.__wrapped__(_suffix(path), rows) if rows else []


def runs(text: str, colours: str) -> Iterator[tuple[str, int, int]]:
    """The kind of each piece of a row, "." for a plain one, where it begins and where it ends."""
    at = 0
    for kind, size in re.findall(r"([a-z.])(\d+)", colours):
        yield kind, at, at + int(size)
        at += int(size)
    if at < len(text):
        yield ".", at, len(text)


def _suffix(path: str) -> str:
    name = path.rpartition("/")[2]
    return name.rpartition(".")[2].lower() if "." in name else ""


@lru_cache(maxsize=20_000)
def _coloured(suffix: str, rows: tuple[str, ...]) -> list[str]:
    lexer = _lexer(suffix)
    if lexer is None:
        return ["" for _ in rows]
    runs: list[list[tuple[str, int]]] = [[]]
    for kind, value in lexer.get_tokens("\n".join(rows)):
        mark = _mark(kind)
        for number, piece in enumerate(value.split("\n")):
            if number:
                runs.append([])
            if piece:
                if runs[-1] and runs[-1][-1][0] == mark:
                    runs[-1][-1] = (mark, runs[-1][-1][1] + len(piece))
                else:
                    runs[-1].append((mark, len(piece)))
    runs += [[] for _ in rows[len(runs) :]]
    return [
        "".join(f"{mark}{n}" for mark, n in row) if any(m != "." for m, _ in row) else "" for row in runs[: len(rows)]
    ]


@lru_cache(maxsize=64)
def _lexer(suffix: str) -> Any:
    name = _BY_SUFFIX.get(suffix or "py")
    if name == "":
        return None
    from pygments.lexers import get_lexer_by_name, get_lexer_for_filename
    from pygments.util import ClassNotFound

    try:
        if name:
            return get_lexer_by_name(name, stripnl=False, ensurenl=False)
        return get_lexer_for_filename(f"x.{suffix}", stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


@lru_cache(maxsize=512)
def _mark(kind: object) -> str:
    name = str(kind).removeprefix("Token.")
    return next((mark for start, mark in KINDS if name.startswith(start)), ".")
