"""`porter checklist`: two launch scripts or configurations in; what differs, the likeliest culprit first."""

from __future__ import annotations

import sys

from porter.checklist.judge import Comparison, compare
from porter.checklist.read import read_side
from porter.checklist.show import document, lines
from porter.checklist.side import side
from porter.commands.output import KINDS, output_kind, show_bytes, write_text
from porter.commands.settings import settings_here
from porter.errors import check_choice
from porter.exits import FOUND, OK
from porter.files.documents import Json
from porter.report.sanitise import as_json
from porter.terminal import plain, show


def checklist(
    baseline: str, candidate: str, output: str | None, format: str | None, everything: bool, lang: str | None
) -> int:
    check_choice("--format", format, KINDS)
    kind = output_kind(output)
    language = settings_here(None, lang)[0].lang
    made = compare(side(baseline, read_side(baseline)), side(candidate, read_side(candidate)))
    found = document(made, language)
    if output:
        write_text(output, _as(kind, made, found, language, True))
    if format in (None, "text"):
        show(lines(found, language, everything), sys.stdout)
    else:
        show_bytes(_as(format, made, found, language, everything))
    return FOUND if made.culprits else OK


def _as(kind: str | None, made: Comparison, found: Json, lang: str, everything: bool) -> str:
    if kind == "json":
        return as_json(found)
    if kind == "html":
        from porter.checklist.page import page

        return page(made, lang)
    return plain(lines(found, lang, everything))
