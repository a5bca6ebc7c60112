"""`porter checklist`: two launch scripts or configurations in; what differs, the likeliest culprit first."""

from __future__ import annotations

from porter.checklist.judge import Comparison, compare
from porter.checklist.read import read_side
from porter.checklist.show import document, lines
from porter.checklist.side import side
from porter.commands.output import KINDS, output_kind, put_out
from porter.commands.settings import settings_here
from porter.errors import check_choice
from porter.exits import FOUND, OK
from porter.terminal import Line


def checklist(
    baseline: str, candidate: str, output: str | None, format: str | None, everything: bool, lang: str | None
) -> int:
    check_choice("--format", format, KINDS)
    output_kind(output)
    language = settings_here(None, lang)[0].lang
    made = compare(side(baseline, read_side(baseline)), side(candidate, read_side(candidate)))
    found = document(made, language)

    def shown(whole: bool) -> list[Line]:
        return lines(found, language, whole)

    put_out(found, lambda: shown(everything), lambda: _page(made, language), output, format, lambda: shown(True))
    return FOUND if made.culprits else OK


def _page(made: Comparison, lang: str) -> str:
    from porter.checklist.page import page

    return page(made, lang)
