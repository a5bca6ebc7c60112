"""What a command was asked to do, resolved once: root, settings, target, session."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from porter.analysis.session import open_session
from porter.commands.settings import choose_target, relative, root_of
from porter.engine.libraries import Libraries
from porter.engine.session import Quiet, Session
from porter.errors import UserError
from porter.files.errors import FilesError, Message
from porter.files.read import LIMIT
from porter.run import config
from porter.run.config import Settings, Table
from porter.run.run import Run, run
from porter.target import Target


@dataclass(frozen=True)
class Job:
    root: Path
    paths: tuple[str, ...]
    settings: Settings
    session: Session
    baseline: Path | None = None
    stdin: tuple[str, bytes] | None = None  # its name relative to the root, and what was read
    cached: bool = True
    force_exclude: bool = False

    @property
    def lang(self) -> str:
        return self.settings.lang

    def run(self, quiet: bool = False, anew: bool = False) -> Run:
        """`anew`: its edits will be written or run, so that they are not taken from the cache."""
        from porter.commands.output import tell
        from porter.commands.progress import progress

        tell(self.root, self.lang)
        cache = None
        if self.cached and self.stdin is None:
            from porter.run.cache import Cache

            cache = Cache(anew=anew)
            if cache.foreign and not quiet:
                print("porter: " + Message("cache", path=cache.file.parent).text(self.lang), file=sys.stderr)
        with progress(self.lang, quiet) as show:
            return run(
                self.root,
                self.paths,
                self.settings,
                self.session,
                stdin=self.stdin,
                cache=cache,
                progress=show,
                force_exclude=self.force_exclude,
            )


def prepare(
    paths: Sequence[str],
    *,
    stdin_filename: str | None = None,
    no_cache: bool = False,
    force_exclude: bool = False,
    fuse: bool = False,
    **given: Any,
) -> Job:
    """`given` is what the command line says of Settings, None or () where it says nothing."""
    paths = tuple(paths or ()) or (".",)
    piped = "-" in paths
    if piped and len(paths) > 1:
        raise UserError(
            "'-' reads standard input and stands alone; name the files in another call",
            "“-”表示标准输入，只能单独使用；其他文件请另行执行",
        )
    if stdin_filename and not piped:
        raise UserError(
            "--stdin-filename names what '-' reads; pass '-' as the path",
            "--stdin-filename 用于命名标准输入；请以“-”作为路径",
        )
    named = (stdin_filename or "stdin.py",) if piped else paths
    root, table = root_of(named)
    settings = config.read(table).overridden(**given)
    target = choose_target(settings, root, table)
    quiet = _switched_off(settings, table, target)
    session = open_session(target, libraries=_libraries(settings, table, target), fuse=fuse, quiet=quiet)
    stdin = None
    if piped:
        stdin = (relative(root, named[0]), _read_stdin(named[0]))
    baseline = _baseline(settings, table, bool(given.get("baseline")))
    return Job(root, named, settings, session, baseline, stdin, not no_cache, force_exclude)


def _read_stdin(name: str) -> bytes:
    data = sys.stdin.buffer.read(LIMIT + 1)
    if len(data) > LIMIT:
        raise FilesError("large", path=name, size=f"{LIMIT / 1e6:.1f}+", limit=f"{LIMIT / 1e6:.0f}")
    return data


def _switched_off(settings: Settings, table: Table | None, target: Target) -> Quiet:
    from porter.rulebook.table import load

    rules = load().rules
    slugs = {code: rule["slug"] for code, rule in sorted(rules.items())}
    optional = frozenset(code for code, rule in rules.items() if rule["default"] == "off")
    try:
        return Quiet(config.quiet(settings, slugs, optional), config.quiet_in(settings, slugs))
    except KeyError as error:
        raise config.unknown_code(error.args[0], table, slugs) from None


def _libraries(settings: Settings, table: Table | None, target: Target) -> Libraries:
    from porter.reach.known import read

    ours = tuple(table.values.get("facts", ())) if table else ()
    # a configuration names files from where it stands
    folder = table.file.parent if table and settings.facts == ours else Path()
    return read([folder / name for name in settings.facts], target)


def _baseline(settings: Settings, table: Table | None, named: bool) -> Path | None:
    if not settings.baseline:
        return None
    return Path(settings.baseline) if named or table is None else table.file.parent / settings.baseline
