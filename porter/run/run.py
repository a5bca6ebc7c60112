"""Analyses many files: finds them, in one process or several, with a cache. The answer is always the same and in the same
order."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from porter.analysis.analyse import analyse, kind, may_concern, sites
from porter.engine.facts import Facts
from porter.engine.refusals import refusal
from porter.engine.session import Session, knowing
from porter.files.all_files import everything
from porter.files.discover import MARKERS, Walk, discover
from porter.files.errors import FilesError
from porter.files.kinds import JSON, PYTHON, largest
from porter.files.read import LIMIT, beginning, digest, read
from porter.finding import FileResult, Held, Site
from porter.native.kernels import anew
from porter.project.consistency import consistent
from porter.project.resting import rested
from porter.project.set_aside import set_aside
from porter.project.told_by_cause import told_by_cause
from porter.project.told_by_function import told_by_function
from porter.project.told_together import told_together
from porter.project.unedited_places import Partners
from porter.project.unused import Uses
from porter.regex import lazy
from porter.run.config import Settings
from porter.run.gather import gather
from porter.target import Target
from porter.text.gate import KINDS

if TYPE_CHECKING:
    from porter.run.cache import Cache

READ = KINDS | {PYTHON}  # the kinds of files that porter reads
PARALLEL_FROM = 200  # files that pass the gate; with fewer, one process is done before others have started
_UNREAD = ("large", "binary")  # keys of FilesError: such JSON files are mostly data
_LOOK, _DEVICE = 4096, lazy(rb':\s*"(?:cuda|nccl)')  # what is searched in the first bytes of such a file
Gated: TypeAlias = tuple[int, str, str]  # size, path, digest
# gets (phase, done, total). The phase is files, project, analysis or together; total is 0 if it is not known
Progress = Callable[[str, int, int], None]
REFUSALS = {"missing": "vanished", "large": "too-large"}  # keys of FilesError -> keys of PRT003, if they differ
# messages of PRT003 about a file that cannot be read; the others are about faults of porter
OUTSIDE = frozenset({"unreadable", "too-large", "data", "changed", "vanished", "binary", "special", "outside"})


@dataclass(frozen=True)
class Run:
    """The result of a run."""

    root: Path
    files: tuple[FileResult, ...]  # sorted by path
    settings: Settings
    target: Target
    facts: Facts = Facts()
    left_out: tuple[str, ...] = ()  # directories that were left out because of their names
    stdin: bytes | None = field(default=None, repr=False)

    @property
    def broken(self) -> bool:
        """Whether porter crashed or broke a promise. Files that cannot be read do not count."""
        return any(f.code == "PRT003" and f.why not in OUTSIDE for file in self.files for f in file.findings)

    def data(self, path: str) -> bytes:
        """The bytes of a file of the run. Raises FilesError if it cannot be read."""
        if self.stdin is not None:
            return self.stdin
        return read(self.root / path, path)


def run(
    root: Path,
    paths: Sequence[str],
    settings: Settings,
    session: Session,
    *,
    stdin: tuple[str, bytes] | None = None,
    cache: Cache | None = None,
    progress: Progress | None = None,
    force_exclude: bool = False,
) -> Run:
    """Analyses `paths`, or `stdin` (its name relative to the root, its bytes)."""
    tell = progress or _untold
    left_out: list[str] = []
    done: list[FileResult] = []
    gated: list[Gated] = []
    named = {stdin[0]} if stdin else set()
    with tuned():
        if stdin is None:
            exclude = settings.exclude
            for file in discover(
                paths, root=root, exclude=exclude, force_exclude=force_exclude, left_out=left_out, kinds=READ
            ):
                named.add(file.path)
                tell("files", len(named), 0)
                try:
                    if file.error:
                        raise FilesError(file.error, path=file.path, error=file.detail, root="")
                    data = _read(root, file.path)
                except FilesError as error:
                    if error.key not in _UNREAD or kind(file.path) != JSON or _begins_like_settings(root / file.path):
                        done.append(_refused(file.path, error, session))
                    continue
                if may_concern(file.path, data, session):
                    gated.append((len(data), file.path, digest(data) if cache else ""))
                elif kind(file.path) == PYTHON:  # other files are counted only if they pass the gate
                    done.append(analyse(file.path, data, session))
        if gated or stdin:
            tell("project", 0, 0)
            asked = {stdin[0]} if stdin else {path for _, path, _ in gated}
            given = dict([stdin]) if stdin and kind(stdin[0]) == PYTHON else {}
            listed, loose = _listed(root, paths, settings.exclude)
            remember = cache.remember if cache else anew
            session = knowing(
                session, gather(root, listed, remember, asked, given=given, loose=loose, shim=session.target.shims)
            )
        if stdin:
            session.rules  # noqa: B018  loads the rules now, so that a mistake in them is reported once
            done.append(analyse(*stdin, session))
        done += _gated(root, gated, settings, session, cache, tell, len(done))
        tell("together", 0, 0)
        if any(result.sites for result in done):
            if settings.exclude:
                listed, _ = _listed(root, paths, ())
            partners = _partners(root, listed, named, settings, session, cache)

            # analyses files again in which edits are held, because of other places of the same value
            def again(held: Sequence[Held]) -> list[FileResult]:
                waiting, now = {place.path for place in held}, replace(session, held=tuple(held))
                if stdin:
                    return [analyse(*stdin, now)]
                return _gated(root, [g for g in gated if g[1] in waiting], settings, now, cache, _untold, 0)

            done = consistent(done, partners, again)
        if (gated or stdin) and not loose:
            texts = _uses(root, paths, settings, listed, given)
            done = rested(done, texts, session.rules.once)
            done = told_by_cause(told_by_function(done, texts.text, session.rules.thought))
            done = set_aside(
                told_together(done, lambda: listed, session.rules.across, texts.text), session.rules.may_stay
            )
    files = tuple(sorted(done, key=lambda result: result.path))
    piped = stdin[1] if stdin else None
    return Run(root, files, settings, session.target, session.facts, tuple(sorted(left_out)), piped)


def _uses(
    root: Path, paths: Sequence[str], settings: Settings, listed: Sequence[str], given: Mapping[str, bytes]
) -> Uses:
    """The uses of definitions in the whole project, also in files that the settings exclude."""

    def files() -> Sequence[str]:
        return _listed(root, paths, ())[0] if settings.exclude else listed

    return Uses(files, lambda path: given.get(path) or beginning(root / path, largest(kind(path))) or b"")


def _listed(root: Path, paths: Sequence[str], exclude: Sequence[str]) -> tuple[list[str], bool]:
    """(files, loose): all files of the project, even if the user named only some, so that a hook and a full run agree.

    `loose`: the root is no project, and only the named files count. This is so if no marker stands in it and no directory
    was named: the root may be somebody's home directory.
    """
    if any(os.path.lexists(root / marker) for marker in MARKERS) or any(map(os.path.isdir, paths)):
        return everything(root, exclude), False
    real = os.path.realpath(root)
    return sorted({os.path.relpath(os.path.realpath(p), real).replace(os.sep, "/") for p in paths}), True


def _partners(
    root: Path, listed: Sequence[str], named: set[str], settings: Settings, session: Session, cache: Cache | None
) -> Partners:
    """Finds places of the same values in files that the run does not edit."""
    walk, facts = Walk(root, settings.exclude), session.facts.digest() if cache else ""

    # the places of devices and backends in a file; `remember` keeps them
    def glance(path: str, data: bytes) -> FileResult:
        def made() -> tuple[Any, ...]:
            result = sites(path, data, session)
            return tuple(map(tuple, result.sites)), result.ties

        rows, ties = cache.remember("\0".join(("sites", path, digest(data), facts)), made) if cache else made()
        return FileResult(path, sites=tuple(Site(*row) for row in rows), ties=ties)

    excluded = partial(walk.is_left_out, directory=False)
    return Partners(root, listed, frozenset(named), session.facts.launch.options, glance, excluded)


def _untold(phase: str, done: int, total: int) -> None:
    """The progress of a run that shows none."""


def _gated(
    root: Path,
    gated: list[Gated],
    settings: Settings,
    session: Session,
    cache: Cache | None,
    tell: Progress,
    before: int,
) -> list[FileResult]:
    known, missing = cache.known(gated, session) if cache else ([], gated)
    if missing:
        session.rules  # noqa: B018  loads the rules now, so that a mistake in them is reported once
    names = [path for *_, path, _ in sorted(missing, key=lambda item: (-item[0], item[1]))]
    jobs = settings.jobs or _cores()
    if jobs > 1 and len(names) >= PARALLEL_FROM:
        from porter.run.pool import pooled

        results = pooled(root, names, session, jobs, analyse_file)
    else:
        results = (analyse_file(root, name, session) for name in names)
    total = before + len(gated)
    new: list[FileResult] = []
    for result in results:
        new.append(result)
        tell("analysis", before + len(known) + len(new), total)
    if cache and new:
        cache.keep(new, session)
    return known + new


def analyse_file(root: Path, path: str, session: Session) -> FileResult:
    """The result of a file on disk; a finding says if it cannot be read."""
    try:
        data = _read(root, path)
    except FilesError as error:
        return _refused(path, error, session)
    return analyse(path, data, session)


def _read(root: Path, path: str) -> bytes:
    file_kind = kind(path)
    return read(root / path, path, limit=LIMIT if file_kind == PYTHON else largest(file_kind))


def _begins_like_settings(path: Path) -> bool:
    """Whether a JSON file that is not read may be settings. Only such files are reported: others that are long, or in UTF-16,
    are vocabularies and annotations, which are data."""
    return _DEVICE.search((beginning(path, _LOOK) or b"").replace(b"\0", b"")) is not None


def _refused(path: str, error: FilesError, session: Session) -> FileResult:
    values = {key: value for key, value in error.message.values.items() if key != "path"}
    key = REFUSALS.get(error.key, error.key)
    if kind(path) != PYTHON and key in ("too-large", "binary"):
        key, values["size"] = "data", values.get("size", "0.0")  # such a file holds no settings
    return refusal(path, key, session, **values)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def tuned() -> Iterator[None]:
    """Makes the garbage collector skip what is loaded already, and run less often. This is as fast as no collector."""
    old = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(100_000, 20, 100)
    try:
        yield
    finally:
        gc.set_threshold(*old)
        gc.unfreeze()
