"""The command `porter analyze`: the run, the report on the terminal, the outputs, the baseline, the exit status."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from porter.commands.job import prepare
from porter.commands.output import show_bytes, write_text
from porter.commands.reports import outputs_of
from porter.commands.view import project_of, report_of
from porter.errors import UserError, check_choice
from porter.exits import FOUND, INTERNAL, OK
from porter.report import FORMATS, SHAPES, render
from porter.report.read import read
from porter.rulebook.words import speaker
from porter.terminal import show, width

say = speaker("report")

if TYPE_CHECKING:
    from porter.report.model import Report


def analyze(
    paths: Sequence[str],
    format: str | None,
    output: Sequence[str] | None,
    write_baseline: str | None,
    quiet: bool,
    verbose: bool,
    all: bool = False,
    statistics: bool = False,
    library: str | None = None,
    source_url: str | None = None,
    since: str | None = None,
    **given: Any,
) -> int:
    if library is not None:
        from porter.commands.library import write_facts

        return write_facts(library, paths, format, output, quiet, **given)
    name = format or "text"
    _check_format(name, all, statistics)
    outputs = outputs_of(output)
    earlier = (os.path.basename(since), read(since)) if since else None
    job = prepare(paths, **given)
    project_of(job.root, source_url or "")  # so that a wrong --source-url fails before the work
    run = job.run(quiet)
    plain = "grouped" if verbose or all else "concise" if quiet else "text"
    # how the terminal's text is laid out
    shape = name if name in SHAPES and name != "text" else plain
    report = report_of(job, run, shape, width(sys.stdout), verbose, source_url or "", earlier)
    for one in outputs:
        one.write(report)
    _show(report, name, statistics)
    if write_baseline:
        from porter.run import baseline

        write_text(write_baseline, baseline.render(report.findings.all, run.data))
        written = len(report.findings.open) + len(report.findings.old)
        print(say("baseline.written", job.lang, file=write_baseline, n=written), file=sys.stderr)
    if run.broken:
        return INTERNAL
    return FOUND if not write_baseline and report.findings.fails(job.settings.fail_on) else OK


def _check_format(name: str, all: bool, statistics: bool) -> None:
    if statistics:
        check_choice("--statistics --format", name, ("text", "json"))
    check_choice("--format", name, (*SHAPES, *(name for name in FORMATS if name not in SHAPES)))
    if all and name in SHAPES and name not in ("text", "grouped"):
        raise UserError(
            f"--all is short for --format grouped; leave it out, or --format {name}",
            f"--all 即 --format grouped；请去掉 --all 或 --format {name}",
        )


def _show(report: Report, name: str, statistics: bool) -> None:
    if statistics:
        from porter.report import statistics as table

        if name == "text":
            show(table.lines(report), sys.stdout)
        else:
            show_bytes(table.as_document(report))
    elif name in SHAPES:
        from porter.report.console import lines

        show(lines(report), sys.stdout)
    else:
        show_bytes(render(report, name))
