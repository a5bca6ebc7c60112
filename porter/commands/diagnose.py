"""`porter diagnose`: a log or a traceback in; cause, place and cure out."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from porter import __version__
from porter.errors import UserError, check_choice
from porter.exits import FOUND, OK
from porter.files.root import is_marked

if TYPE_CHECKING:
    from porter.diagnose.repository import Repository
    from porter.rulebook.texts import Texts

KINDS = ("text", "json")


def diagnose(
    log: str,
    repo: str | None,
    findings: str | None,
    target: str | None,
    format: str | None,
    lang: str | None,
    no_cache: bool,
) -> int:
    from porter.checks.registry import load
    from porter.commands.settings import settings_here
    from porter.diagnose.conclude import conclude
    from porter.diagnose.match import matchers, meanings_of
    from porter.diagnose.scan import Scan
    from porter.logs.reading import blocks, opened

    check_choice("--format", format, KINDS)
    if repo and findings:
        raise UserError(
            "--repo and --findings are two ways to say the same; give one of them",
            "--repo 与 --findings 作用相同，只需给出其一",
        )
    settings, _ = settings_here(target, lang)
    rules = load()
    texts = rules.texts
    with opened(log) as stream:
        scanned = Scan(matchers(meanings_of(texts, rules.tables.packages))).read(blocks(stream))
    repository, prefix, root = _repository(repo, findings, target, settings.lang, no_cache, texts)
    diagnosis = conclude(scanned, texts, repository)
    if format == "json":
        from porter.commands.output import show_bytes
        from porter.diagnose.show import document

        show_bytes(document(diagnosis, log, __version__, settings.lang))
    else:
        from porter.diagnose.show import lines
        from porter.terminal import show

        show(lines(diagnosis, log, root, prefix, settings.lang), sys.stdout)
    return OK if diagnosis.known else FOUND


def _repository(
    repo: str | None, findings: str | None, target: str | None, lang: str, no_cache: bool, texts: Texts
) -> tuple[Repository | None, str, str]:
    """The code the log is of: what is named, else the current folder where that is the root of a project."""
    from porter.diagnose import repository

    if findings:
        from porter.report.read import read

        return repository.of_document(read(findings)), "", findings
    if not repo and not is_marked(Path()):
        return None, "", ""
    return repository_of(repo or ".", target, lang, no_cache, texts)


def repository_of(
    repo: str, target: str | None, lang: str, no_cache: bool, texts: Texts
) -> tuple[Repository, str, str]:
    """What is found in a tree, how its paths begin from here, and what it is called."""
    from porter.commands.job import prepare
    from porter.commands.view import place
    from porter.diagnose.repository import of_run

    job = prepare((repo,), target=target, lang=lang, no_cache=no_cache)
    run = job.run(quiet=True)
    prefix, root = place(run.root)
    return of_run(run, texts, lang), prefix, root or repo
