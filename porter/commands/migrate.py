"""The command `porter migrate`: shows the edits of a run as a diff, or writes them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from porter.analysis.analyse import kind
from porter.commands.edited import Edited
from porter.commands.job import Job, prepare
from porter.commands.output import is_half_written, mend
from porter.commands.reports import outputs_of
from porter.commands.settings import root_of
from porter.commands.view import place, report_of
from porter.engine.together import by_file
from porter.errors import UserError
from porter.exits import FOUND, INTERNAL, OK, USAGE
from porter.files.errors import FilesError, printable
from porter.files.kinds import PYTHON
from porter.files.read import digest
from porter.files.write import ABSENT
from porter.finding import Change, apply
from porter.report.diff import unified
from porter.rulebook.words import speaker
from porter.run.config import LANGUAGES
from porter.run.run import Run

say = speaker("report")

SHOWN = 3  # names that a line lists; further ones are counted


def migrate(
    paths: Sequence[str],
    inplace: bool,
    out: str | None,
    unsafe: bool,
    check: bool,
    annotate: bool,
    allow_dirty: bool,
    no_undo: bool,
    verify: str | None,
    distribute: str | None,
    output: Sequence[str] | None,
    quiet: bool,
    verbose: bool,
    **given: Any,
) -> int:
    chosen = _chosen(inplace, out, check, verify, no_undo)
    outputs = outputs_of(output)
    job = prepare(paths or ((str(root_of([distribute])[0]),) if distribute else ()), **given)
    if job.stdin is not None and (inplace or out):
        raise UserError(f"{chosen[0]} needs files; '-' is shown as a diff", f"{chosen[0]} 需要文件；“-”只以 diff 显示")
    if inplace:
        mend(job.root, job.lang, kept=not no_undo)
    elif out and is_half_written(job.root):
        raise FilesError("unfinished-tree", path=printable(job.root.name))
    run = job.run(quiet, anew=True)
    errors: list[FilesError] = []
    edits = list(_edits(job, run, unsafe, annotate, errors))
    notes: list[str] = []
    new: dict[str, bytes] = {}
    answered = run  # what is left to be done
    if distribute:
        from porter.commands.distribute import distributed

        made = distributed(job, run, distribute)
        edits, notes = made.onto(edits, run, unsafe), list(made.lines(job.lang, unsafe))
        new = made.new if unsafe else {}
        answered = made.answered(run)
    changed = [edit for edit in edits if edit.changed]
    # reports are written before the edits: their line numbers are those of the old files
    if outputs:
        report = report_of(job, run)
        for one in outputs:
            one.write(report)
    if out and errors:  # without these files it would be half a port
        _tell(errors, job.lang)
        print(say("migrate.nothing", job.lang), file=sys.stderr)
        return USAGE
    if verify and not _verified(job, run, changed, new, verify):
        print(say("migrate.nothing", job.lang), file=sys.stderr)
        return FOUND
    if inplace:
        changed = _write(job, changed, new, unsafe, allow_dirty, not no_undo, errors)
    elif out:
        _copy(job, changed, new, out)
    elif not check:
        _show(run, edits, unsafe, job.lang)
    _tell(errors, job.lang)
    if not quiet:
        outcome = "kept" if inplace and not no_undo else "done" if inplace else "copied" if out else "would"
        for line in [*_summary(job, answered, changed, unsafe, annotate, outcome, out or ""), *notes]:
            print(line, file=sys.stderr)
    if errors:
        return USAGE
    if run.broken:
        return INTERNAL
    return FOUND if check and changed else OK


def _chosen(inplace: bool, out: str | None, check: bool, verify: str | None, no_undo: bool) -> list[str]:
    """The option that says what is done with the port; [] for a diff. Raises UserError where options contradict each other."""
    chosen = [name for name, on in (("--inplace", inplace), ("--out", out), ("--check", check)) if on]
    if len(chosen) > 1:
        raise UserError(f"{' and '.join(chosen)} exclude each other", f"{' 与 '.join(chosen)} 不能同时使用")
    if verify and not (inplace or out):
        raise UserError(
            "--verify decides whether files are written; it needs --inplace or --out",
            "--verify 决定是否写入文件，需与 --inplace 或 --out 同用",
        )
    if no_undo and not inplace:
        raise UserError(
            "--no-undo is about the files that --inplace writes; it needs --inplace",
            "--no-undo 针对 --inplace 写入的文件，需与 --inplace 同用",
        )
    return chosen


def _tell(errors: list[FilesError], lang: str) -> None:
    for error in errors:
        print("porter: " + error.text(lang), file=sys.stderr)


def _edits(job: Job, run: Run, unsafe: bool, annotate: bool, errors: list[FilesError]) -> Iterator[Edited]:
    """Every file with edits. Files that changed since they were analysed go to `errors`."""
    places = by_file(f for result in run.files for f in result.findings) if annotate else {}
    for result in run.files:
        if not (result.auto or result.review or annotate and result.digest):
            continue
        try:
            data = run.data_now(result.path)
            if digest(data) != result.digest:
                raise FilesError("changed", path=result.path)
        except FilesError as error:
            errors.append(error)
            continue
        auto, review = result.auto, result.review
        notes: tuple[Change, ...] = ()
        if annotate and kind(result.path) == PYTHON:  # in other files an added line may become part of a value
            from porter.run.annotate import annotated, remarks

            texts = job.session.rules.texts
            notes = remarks(data, places.get(result.path, ()), texts.message, job.lang)
            auto, review = annotated(data, auto, notes), annotated(data, review, notes)
        if auto or review:
            yield Edited(result, data, review if unsafe else auto, review, len(notes))


def _verified(job: Job, run: Run, changed: list[Edited], new: dict[str, bytes], program: str) -> bool:
    import shlex

    from porter.commands.verify import verified

    files = {**{edit.result.path: apply(edit.data, edit.main) for edit in changed}, **new}
    return verified(shlex.split(program), Path(os.path.realpath(job.root)), run, files, job.lang)


def _write(
    job: Job,
    changed: list[Edited],
    new: dict[str, bytes],
    unsafe: bool,
    allow_dirty: bool,
    kept: bool,
    errors: list[FilesError],
) -> list[Edited]:
    from porter.files.git import dirty
    from porter.files.journal import Transaction

    if not changed and not new:
        return []
    written = []
    with Transaction(job.root, kept) as transaction:
        if not allow_dirty:
            digests = transaction.home.written()
            ours = {e.result.path for e in changed if digests.get(e.result.path) == e.result.digest}
            names = dirty(job.root, [e.result.path for e in changed if e.result.path not in ours])
            if names:
                en, zh = (say("dirty", lang, names=_shown(names, lang)) for lang in LANGUAGES)
                raise UserError(en, zh)
        for edit in changed:
            try:
                transaction.add(edit.result.path, apply(edit.data, edit.main), edit.result.digest, edit.places(unsafe))
            except FilesError as error:
                if error.key == "journal":
                    raise
                errors.append(error)
            else:
                written.append(edit)
        if new and errors:  # without these files one process per device would be half written
            return []
        for path, data in new.items():
            transaction.add(path, data, ABSENT)
        transaction.commit()
    return written


def _shown(names: list[str], lang: str) -> str:
    more = say("more", lang, n=len(names) - SHOWN) if len(names) > SHOWN else ""
    return ", ".join(printable(name) for name in names[:SHOWN]) + more


def _copy(job: Job, changed: list[Edited], new: dict[str, bytes], out: str) -> None:
    """Writes a copy to `out`: of the directory that was named, or of the project where files or several paths were named."""
    from porter.files.copy import write_copy

    root = job.paths[0] if len(job.paths) == 1 and os.path.isdir(job.paths[0]) else job.root
    files = {**{edit.result.path: apply(edit.data, edit.main) for edit in changed}, **new}
    unported: list[str] = []
    write_copy(root, out, files, job.settings.exclude, job.root, unported)
    if unported:
        print("porter: " + say("migrate.unported", job.lang, paths=_shown(unported, job.lang)), file=sys.stderr)


def _show(run: Run, edits: list[Edited], unsafe: bool, lang: str) -> None:
    """Prints the diff. Paths start where the command runs, so that `git apply` and `patch -p1` work there."""
    prefix, _ = place(run.root)
    first = b"".join(unified(prefix + e.result.path, e.data, e.main) for e in edits)
    second = b""
    if not unsafe:
        second = b"".join(unified(prefix + e.result.path, e.data, e.more, e.main) for e in edits)
    if second:  # as comments, which a patch tool leaves out
        title = say("diff.review", lang).encode(sys.stdout.encoding or "utf-8", "backslashreplace")
        second = b"".join(b"# " + row + b"\n" for row in [title, *second.split(b"\n")[:-1]])
    stream = sys.stdout
    stream.flush()
    stream.buffer.write(_coloured(first + second) if stream.isatty() and _takes_colour() else first + second)
    stream.buffer.flush()


def _takes_colour() -> bool:
    return os.name != "nt" and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _coloured(diff: bytes) -> bytes:
    colours = {b"+": b"32", b"-": b"31", b"@": b"36", b"#": b"2"}
    rows = diff.split(b"\n")
    shown = (b"\033[%sm%s\033[0m" % (colours[row[:1]], row) if row[:1] in colours else row for row in rows)
    return b"\n".join(shown)


def _summary(
    job: Job, run: Run, changed: list[Edited], unsafe: bool, annotate: bool, outcome: str, out: str
) -> Iterator[str]:
    from porter.report.console import target_line
    from porter.report.numbers import count, left_for_you

    lang = job.lang
    report = report_of(job, run)
    yield target_line(report)
    numbers = count(report.findings.due)
    findings = [f for e in changed for f in e.result.findings if f.suppressed is None and not f.optional]
    auto, review = (sum(f.status == status for f in findings) for status in ("auto", "review"))
    if changed:
        folder = report.prefix.rstrip("/")
        undo = f"porter undo {folder}" if folder else "porter undo"
        more = say("migrate.reviewed", lang, n=review) if unsafe and review else ""
        if fused := sum(
            f.optional and bool(f.edit) and f.suppressed is None for e in changed for f in e.result.findings
        ):
            more += say("migrate.fused", lang, n=fused)
        yield say(f"migrate.{outcome}", lang, files=len(changed), auto=auto, review=more, out=out, undo=undo)
    else:
        yield say("migrate.none", lang)
    if annotate and (files := sum(e.notes > 0 for e in changed)):
        yield say("annotated", lang, n=files)
    parts = [say("left.review", lang, n=numbers.review)] if numbers.review and not unsafe else []
    if any(numbers.left.values()):
        parts.append(left_for_you(numbers, lang))
    if parts:
        yield say("migrate.left", lang, parts=("，" if lang == "zh" else ", ").join(parts))
    for finding in report.findings.refused:
        yield f"{printable(report.prefix + finding.path)}:{finding.line}: {finding.code} {report.message(finding)}"
