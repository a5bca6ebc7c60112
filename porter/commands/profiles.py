"""`porter compare --profiles A [B]`: where the time of a step goes, what changed, and what to do next."""

from __future__ import annotations

from porter import __version__
from porter.commands.output import output_kind, put_out
from porter.commands.settings import settings_here
from porter.errors import UserError, check_choice
from porter.exits import OK
from porter.profiles.document import document, ported
from porter.profiles.find import read_run
from porter.profiles.show import lines, page

FORMATS = ("text", "json")


def profiles(
    a: str, b: str | None, rerun: str | None, repo: str | None, format: str | None, output: str | None, lang: str | None
) -> int:
    if rerun:
        raise UserError("--rerun is for logs, not for --profiles", "--rerun 用于日志，不能与 --profiles 同用")
    check_choice("--format", format, FORMATS)
    output_kind(output)
    settings, _ = settings_here(None, lang)
    runs = [read_run(path) for path in (a, b) if path]
    value = document(runs, __version__, settings.lang)
    if repo:
        from porter.commands.profile_places import join

        run = ported(runs)
        join(value, value["profiles"][runs.index(run)], run, repo, settings.lang)
    put_out(value, lambda: lines(value, settings.lang), lambda: page(value, settings.lang), output, format)
    return OK
