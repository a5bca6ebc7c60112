"""`porter compare --profiles A [B]`: where the time of a step goes, what changed, and what to do next."""

from __future__ import annotations

import sys

from porter import __version__
from porter.commands.output import output_kind, show_bytes, write_text
from porter.commands.settings import settings_here
from porter.errors import UserError, check_choice
from porter.exits import OK
from porter.files.documents import Json
from porter.profiles.document import document, ported
from porter.profiles.find import read_run

FORMATS = ("text", "json")


def profiles(
    a: str, b: str | None, rerun: str | None, repo: str | None, format: str | None, output: str | None, lang: str | None
) -> int:
    if rerun:
        raise UserError("--rerun is for logs, not for --profiles", "--rerun 用于日志，不能与 --profiles 同用")
    check_choice("--format", format, FORMATS)
    kind = output_kind(output)
    settings, _ = settings_here(None, lang)
    runs = [read_run(path) for path in (a, b) if path]
    value = document(runs, __version__, settings.lang)
    if repo:
        from porter.commands.profile_places import join

        run = ported(runs)
        join(value, value["profiles"][runs.index(run)], run, repo, settings.lang)
    if output:
        write_text(output, _as(kind, value, settings.lang))
    if format == "json":
        show_bytes(_as("json", value, settings.lang))
    else:
        from porter.profiles.show import lines
        from porter.terminal import show

        show(lines(value, settings.lang), sys.stdout)
    return OK


def _as(form: str, value: Json, lang: str) -> str:
    from porter.profiles.show import lines, page
    from porter.report.sanitise import as_json
    from porter.terminal import plain

    if form == "json":
        return as_json(value)
    return page(value, lang) if form == "html" else plain(lines(value, lang))
