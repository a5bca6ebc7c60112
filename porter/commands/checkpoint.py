"""`porter checkpoint inspect FILE`, `porter checkpoint compare A B`: what weights are saved, and how two savings differ."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from porter.checkpoint.find import read
from porter.commands.output import show_bytes, write_text
from porter.commands.settings import settings_here
from porter.errors import UserError, check_choice
from porter.exits import FOUND, OK
from porter.files.documents import Json

if TYPE_CHECKING:
    from collections.abc import Callable

    from porter.terminal import Line

FORMATS = ("text", "json")
SUFFIXES = (".json", ".txt")


def inspect(file: str, is_all: bool, format: str | None, output: str | None, lang: str | None) -> int:
    from porter.checkpoint.document import document
    from porter.checkpoint.show import inspected

    lang = _checked(format, output, lang)
    found = document(read(file), lang)
    _answer(found, lambda: inspected(found, lang, is_all), format, output)
    return OK


def compare(
    baseline: str, candidate: str, tolerance: float | None, is_all: bool, format: str | None, output: str | None, lang: str | None
) -> int:  # fmt: skip
    from porter.checkpoint import show
    from porter.checkpoint.compared import compared

    lang = _checked(format, output, lang)
    found = compared(read(baseline), read(candidate), tolerance, lang)
    _answer(found, lambda: show.compared(found, lang, is_all), format, output)
    return OK if found["outcome"] == "equal" else FOUND


def _checked(format: str | None, output: str | None, lang: str | None) -> str:
    check_choice("--format", format, FORMATS)
    if output and not output.endswith(SUFFIXES):
        known = ", ".join(SUFFIXES)
        raise UserError(
            f"--output: {output!r} ends in none of {known}", f"--output：{output!r} 的后缀不在 {known} 之内"
        )
    return settings_here(None, lang)[0].lang


def _answer(found: Json, lines: Callable[[], list[Line]], format: str | None, output: str | None) -> None:
    from porter.report.sanitise import as_json
    from porter.terminal import plain, show

    if output:
        write_text(output, as_json(found) if output.endswith(".json") else plain(lines()))
    if format == "json":
        show_bytes(as_json(found))
    else:
        show(lines(), sys.stdout)
