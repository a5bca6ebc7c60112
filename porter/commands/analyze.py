"""`porter analyze`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from porter.commands.job import prepare
from porter.commands.output import show_bytes, write_text
from porter.commands.view import report_of
from porter.errors import check_choice
from porter.exits import FOUND, INTERNAL, OK
from porter.report import FORMATS, format_of, render
from porter.rulebook.words import speaker

say = speaker("report")


def analyze(
    paths: Sequence[str],
    format: str | None,
    output: Sequence[str] | None,
    write_baseline: str | None,
    quiet: bool,
    verbose: bool,
    library: str | None = None,
    **given: Any,
) -> int:
    if library is not None:
        from porter.commands.library import write_facts

        return write_facts(library, paths, format, output, quiet, **given)
    name = format or "text"
    check_choice("--format", name, FORMATS)
    outputs = [(file, format_of(file)) for file in output or ()]
    job = prepare(paths, **given)
    run = job.run(quiet)
    report = report_of(job, run, 1 if verbose else -1 if quiet else 0)
    for file, kind in outputs:
        write_text(file, render(report, kind))
    if name == "text":
        from porter.report.console import lines
        from porter.terminal import show

        show(lines(report), sys.stdout)
    else:
        show_bytes(render(report, name))
    if write_baseline:
        from porter.run import baseline

        write_text(write_baseline, baseline.render(report.findings.all, run.data))
        written = len(report.findings.open) + len(report.findings.old)
        print(say("baseline.written", job.lang, file=write_baseline, n=written), file=sys.stderr)
    if run.broken:
        return INTERNAL
    return FOUND if not write_baseline and report.findings.fails(job.settings.fail_on) else OK
