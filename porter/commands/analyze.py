"""`porter analyze`."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from porter.cli import FOUND, INTERNAL, OK
from porter.commands.job import prepare
from porter.commands.view import report_of
from porter.errors import UserError, check_choice
from porter.report import FORMATS, format_of, render
from porter.report.words import say


def analyze(
    paths: Sequence[str],
    format: str | None,
    output: Sequence[str] | None,
    write_baseline: str | None,
    quiet: bool,
    verbose: bool,
    library: str | None = None,
    **given: object,
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
        from porter.report.console import lines, show

        show(lines(report), sys.stdout)
    else:
        show_bytes(render(report, name))
    if write_baseline:
        from porter import baseline

        write_text(write_baseline, baseline.render(report.findings, run.data))
        written = len(report.open) + len(report.old)
        print(say("baseline.written", job.lang, file=write_baseline, n=written), file=sys.stderr)
    if run.broken:
        return INTERNAL
    return FOUND if not write_baseline and report.fails(job.settings.fail_on) else OK


_FLAGS = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def write_text(file: str, text: str) -> None:
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _FLAGS, 0o666)
        with open(descriptor, "wb") as stream:
            if hasattr(os, "O_NONBLOCK"):  # a pipe that nobody reads is refused by now; one that is read may be slow
                os.set_blocking(descriptor, True)
            stream.write(text.encode("utf-8", "backslashreplace"))
    except OSError as error:
        why = error.strerror or error
        raise UserError(f"{file}: cannot be written: {why}", f"{file}：无法写入：{why}") from None


def show_bytes(text: str) -> None:
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode("utf-8", "backslashreplace"))
    sys.stdout.buffer.flush()
