"""From a Run to the Report that is shown: with the baseline applied, and with paths that can be opened."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterable
from pathlib import Path

from porter import __version__
from porter.commands.job import Job
from porter.files.commit import commit_of
from porter.files.documents import Json
from porter.finding import Finding
from porter.report.model import Project, Report, Scan, View
from porter.run.run import Run

_TYPED = 3  # paths; more of them a hook has given


def report_of(
    job: Job,
    run: Run,
    kind: str = "text",
    width: int = 100,
    verbose: bool = False,
    source_url: str = "",
    earlier: tuple[str, Json] | None = None,
) -> Report:
    known: frozenset[Finding] = frozenset()
    if job.baseline is not None:
        from porter.run import baseline

        marks = baseline.read(job.baseline, os.path.basename(job.baseline))
        known = baseline.known([f for file in run.files for f in file.findings], run.data, marks)
    prefix, root = place(run.root)
    launcher, roads = run.facts.launch.script, run.facts.roads
    project = project_of(run.root, source_url)
    scan = Scan(
        run.files,
        _reader(run),
        run.left_out,
        launcher,
        project,
        roads,
        lambda: _scripts(job, run),
        job.settings.effort,
        earlier,
        _edited(run),
    )
    asked = " ".join(map(shlex.quote, job.paths)) if 0 < len(job.paths) <= _TYPED else "."
    view = View(kind, asked, width, verbose)
    return Report(__version__, job.session, scan, known, job.lang, prefix, root, view)


def _edited(run: Run) -> int:
    """Places of the files of a run that porter edited before."""
    if not os.path.isdir(os.path.join(run.root, ".porter")):
        return 0
    from porter.files.journal import edited

    places = edited(run.root)
    return sum(places.get(file.path, 0) for file in run.files)


def project_of(root: Path, source_url: str = "") -> Project:
    """Raises UserError for a --source-url that leads nowhere."""
    project = Project(os.path.basename(os.path.realpath(root)), commit_of(root), source_url)
    if source_url:
        from porter.report.links import check

        check(source_url, project.commit)
    return project


def _scripts(job: Job, run: Run) -> Iterable[tuple[str, bytes]]:
    from porter.files.script_texts import spoken

    return () if run.stdin is not None else spoken(job.root, job.settings.exclude, job.paths)


def _reader(run: Run) -> Callable[[str], bytes | None]:
    """The bytes that were analysed; None where a file has gone or changed since."""
    from porter.files.errors import FilesError
    from porter.files.read import digest

    digests = {file.path: file.digest for file in run.files}

    def data(path: str) -> bytes | None:
        try:
            content = run.data(path)
        except FilesError:
            return None
        return content if digests.get(path, "") in ("", digest(content)) else None

    return data


def place(root: Path) -> tuple[str, str]:
    """What to put before a path of the run to open it from here, and the root as seen from here.

    ("", ".") at the root, ("repo/", "repo") above it; elsewhere ("", ""), and the report says what paths start from.
    """
    relative = os.path.relpath(os.path.realpath(root), os.path.realpath(".")).replace(os.sep, "/")
    if relative == ".":
        return "", "."
    return ("", "") if relative.startswith("..") else (f"{relative}/", relative)
