"""Analyses many files: finds them, in one process or several, with a cache. The answer is always the same and in the same
order."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from porter.analysis.analyse import analyse, kind, may_concern, sites, ties
from porter.collector import tuned
from porter.engine.facts import Facts
from porter.engine.session import Session, knowing
from porter.files.all_files import everything
from porter.files.discover import File, Walk, discover
from porter.files.errors import FilesError
from porter.files.kinds import PYTHON, largest
from porter.files.read import LIMIT, Seen, beginning, digest, read, reading_once
from porter.files.root import is_marked
from porter.files.witness import note_change
from porter.finding import FileResult, Held, Site
from porter.project.consistency import consistent
from porter.project.imports import Projects
from porter.project.unedited_places import Partners
from porter.project.unused import Uses
from porter.python.kept import Remember, anew, rows_of
from porter.run.config import Settings
from porter.run.gather import gather
from porter.run.said import Said, is_broken
from porter.run.together import together
from porter.run.unread import is_data, unread
from porter.target import Target
from porter.text.gate import KINDS

if TYPE_CHECKING:
    from porter.run.cache import Cache

READ = KINDS | {PYTHON}  # the kinds of files that porter reads
PARALLEL_FROM = 200  # files that pass the gate; with fewer, one process is done before others have started
Gated: TypeAlias = tuple[int, str, str]  # size, path, digest
Listing = Callable[[tuple[str, ...]], tuple[list[str], bool]]  # of what is excluded: (files, loose), see `_listed`
# gets (phase, done, total). The phase is files, project, analysis or together; total is 0 if it is not known
Progress = Callable[[str, int, int], None]


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
    seen: Seen = field(default_factory=Seen, repr=False, compare=False)

    @property
    def broken(self) -> bool:
        return is_broken(self.files)

    def data(self, path: str) -> bytes:
        """The bytes of a file of the run. Raises FilesError if it cannot be read."""
        with reading_once(self.seen):
            return self.data_now(path)

    def data_now(self, path: str) -> bytes:
        """The same as the disk has them now: somebody may have changed the file since it was analysed."""
        return read(self.root / path, path) if self.stdin is None else self.stdin


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
    tell, left_out = progress or _untold, list[str]()
    with tuned(), closing(cache) if cache else nullcontext():
        exclude, found = settings.exclude, list[File]()
        if stdin is None:
            found = discover(
                paths, root=root, exclude=exclude, force_exclude=force_exclude, left_out=left_out, kinds=READ
            )
        listing = lru_cache(partial(_listed, root, paths))  # one look, so that a key tells what a run has seen
        seen = Seen()
        look = reading_once(seen)(partial(_look, root, listing, settings, session, found, stdin, cache, tell))
        if cache and not cache.anew and not stdin and any(map(os.path.isdir, paths)) and root.is_absolute():
            from porter.run.whole import said_before

            # what is written or run is analysed anew, and a hook names other files the next time
            about = root, found, listing(exclude), listing(()), exclude, force_exclude
            said = said_before(cache, session, about, look)
            tell("files", len(found), 0)
        else:
            said = look()
    files, piped = tuple(sorted(said.files, key=lambda result: result.path)), stdin[1] if stdin else None
    return Run(root, files, settings, session.target, said.facts, tuple(sorted(left_out)), piped, seen)


def _look(
    root: Path,
    listing: Listing,
    settings: Settings,
    session: Session,
    found: Sequence[File],
    stdin: tuple[str, bytes] | None,
    cache: Cache | None,
    tell: Progress,
) -> Said:
    """What porter says of the files that were found."""
    kept, projects = anew if cache is None or cache.anew else cache.remember, Projects()
    done, gated = _gate(root, found, session, cache, tell, kept)
    named = {stdin[0]} if stdin else {file.path for file in found}
    if gated or stdin:
        tell("project", 0, 0)
        asked = {stdin[0]} if stdin else {path for _, path, _ in gated}
        given = dict([stdin]) if stdin and kind(stdin[0]) == PYTHON else {}
        listed, loose = listing(settings.exclude)
        target = session.target
        facts = gather(root, listed, kept, asked, given=given, loose=loose, target=target, projects=projects)
        session = knowing(session, facts)
    if stdin:
        session.rules  # noqa: B018
        done.append(analyse(*stdin, session))
    done += _gated(root, gated, settings, session, cache, tell, len(done))
    tell("together", 0, 0)
    if any(result.sites for result in done):
        partners = _partners(root, listing(())[0], named, settings, session, cache, kept)

        def again(held: Sequence[Held]) -> list[FileResult]:
            waiting, now = {place.path for place in held}, replace(session, held=tuple(held))
            if stdin:
                return [analyse(*stdin, now)]
            return _gated(root, [g for g in gated if g[1] in waiting], settings, now, cache, _untold, 0)

        done = consistent(done, partners, again)
    if (gated or stdin) and not loose:
        texts = _uses(root, listing, given, kept, projects)
        done = together(done, session, texts, lambda: listing(())[0])
    return Said(done, session.facts)


def _gate(
    root: Path, found: Sequence[File], session: Session, cache: Cache | None, tell: Progress, kept: Remember
) -> tuple[list[FileResult], list[Gated]]:
    """Results of the files that nothing can concern, or that cannot be read; and those that have to be looked at."""
    done, gated = list[FileResult](), list[Gated]()
    for count, file in enumerate(found, 1):
        tell("files", count, 0)
        try:
            if file.error:
                raise FilesError(file.error, path=file.path, error=file.detail, root="")
            data = _read(root, file.path)
        except FilesError as error:
            if not is_data(root / file.path, kind(file.path), error):
                done.append(unread(root / file.path, file.path, kind(file.path), error, session))
            continue
        if may_concern(file.path, data, session, kept):
            gated.append((len(data), file.path, digest(data) if cache else ""))
        elif kind(file.path) == PYTHON:  # of other files, only those that matter are counted
            done.append(analyse(file.path, data, session))
    return done, gated


def _uses(root: Path, listing: Listing, given: Mapping[str, bytes], kept: Remember, projects: Projects) -> Uses:
    """The uses of definitions in the whole project, also in files that the settings exclude."""

    def data(path: str) -> bytes:
        return given.get(path) or beginning(root / path, largest(kind(path))) or b""

    return Uses(lambda: listing(())[0], data, kept, projects)


def _listed(root: Path, paths: Sequence[str], exclude: Sequence[str]) -> tuple[list[str], bool]:
    """(files, loose): all files of the project, even if the user named only some, so that a hook and a full run agree.

    `loose`: no marker is in the root, and no directory was named. It may be somebody's home: the named files count alone.
    """
    if is_marked(root) or any(map(os.path.isdir, paths)):
        return everything(root, exclude), False
    real = os.path.realpath(root)
    return sorted({os.path.relpath(os.path.realpath(p), real).replace(os.sep, "/") for p in paths}), True


def _partners(
    root: Path,
    listed: Sequence[str],
    named: set[str],
    settings: Settings,
    session: Session,
    cache: Cache | None,
    kept: Remember,
) -> Partners:
    """Finds places of the same values in files that the run does not edit."""
    walk, facts = Walk(root, settings.exclude), session.facts.digest() if cache else ""

    # the places of devices and backends in a file; `kept` may know them
    def glance(path: str, data: bytes) -> FileResult:
        def made() -> tuple[Any, ...]:
            result = sites(path, data, session)
            return tuple(map(tuple, result.sites)), result.ties

        file_digest = digest(data) if cache else ""
        if cache and kind(path) == PYTHON and (known := cache.found(path, file_digest, session)):
            return FileResult(path, sites=known.sites, ties=known.ties)  # the same, whatever their status
        rows, ties = kept("\0".join(("sites", path, file_digest, facts)), made)
        return FileResult(path, sites=tuple(Site(*row) for row in rows), ties=ties)

    def follow(path: str, data: bytes, words: tuple[str, ...]) -> FileResult:
        pairs = rows_of(data, "ties", words, lambda: ties(path, data, session, words).ties, kept, path)
        return FileResult(path, ties=pairs)

    excluded = partial(walk.is_left_out, directory=False)
    return Partners(root, listed, frozenset(named), session.facts.launch.options, glance, follow, excluded, kept)


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
        session.rules  # noqa: B018  a mistake in a rule is told once, here, and not as one crash for each file
    # the largest first; in this order, too, what is told of several names them, whoever was done first
    order = {path: (-size, path) for size, path, _ in gated}
    names = sorted((path for _, path, _ in missing), key=order.__getitem__)
    jobs = settings.jobs or _cores()
    if jobs > 1 and len(names) >= PARALLEL_FROM:
        from porter.run.pool import pooled

        results = pooled(root, names, session, jobs, analyse_file)
    else:
        results = (analyse_file(root, name, session) for name in names)
    digests = {path: at_first for _, path, at_first in missing if at_first}
    new: list[FileResult] = []
    for result in results:
        if result.digest != digests.get(result.path, result.digest):
            note_change()
        new.append(result)
        tell("analysis", before + len(known) + len(new), before + len(gated))
    if cache and new:
        cache.keep(new, session)
    return sorted(known + new, key=lambda result: order[result.path])


def analyse_file(root: Path, path: str, session: Session) -> FileResult:
    """The result of a file on disk; a finding says if it cannot be read."""
    try:
        data = _read(root, path)
    except FilesError as error:
        return unread(root / path, path, kind(path), error, session)
    return analyse(path, data, session)


def _read(root: Path, path: str) -> bytes:
    file_kind = kind(path)
    return read(root / path, path, limit=LIMIT if file_kind == PYTHON else largest(file_kind))


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
