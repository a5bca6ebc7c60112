"""Analyses one file with the engine for its kind: Python, notebook or text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from porter.analysis.python import analyse as analyse_python
from porter.engine.refusals import guarded, unread
from porter.engine.session import Session, concern
from porter.files.kinds import JSON, NOTEBOOK, PYTHON, YAML, kind_of
from porter.finding import FileResult
from porter.python.kept import Remember, anew, rows_of
from porter.python.shims import starts
from porter.rulebook.gate import GATE
from porter.text.gate import KINDS, concerns


def kind(path: str) -> str:
    """The kind of a file. A file without a known kind is Python: the user named it, or its first line says so."""
    known = kind_of(path)
    return known if known in KINDS else PYTHON


def may_concern(path: str, data: bytes, session: Session, kept: Remember = anew) -> bool:
    """Whether a file has to be analysed: a quick search in its bytes. `kept`: answers of an earlier run about settings files,
    of which there may be thousands."""
    file_kind = kind(path)
    if file_kind == PYTHON:
        return bool(GATE.search(data) or concern(session, data) or session.target.shims and starts(data))
    if file_kind not in (JSON, YAML):
        imports = (
            file_kind == NOTEBOOK and session.target.shims and b"import" in data
        )  # what it leads to is not known yet
        return imports or concerns(file_kind, data)
    return bool(rows_of(data, "gate", file_kind, lambda: (bool(concerns(file_kind, data)),), kept)[0])


def analyse(path: str, data: bytes, session: Session) -> FileResult:
    """Findings and edits of a file. Never raises."""
    file_kind = kind(path)
    if file_kind == PYTHON:
        return analyse_python(path, data, session)
    if not concerns(file_kind, data) and not _imports_shim(path, session):
        return unread(path, data)
    if file_kind == NOTEBOOK:
        from porter.analysis.notebook import analyse as look
    else:
        from porter.analysis.text import examine

        look = partial(examine, file_kind)
    return guarded(path, data, session, lambda result: look(result, data, session))


def _imports_shim(path: str, session: Session) -> bool:
    """A notebook without a word of devices, whose imports lead to CUDA."""
    return path in session.facts.accelerators.shimmed.notebooks


def sites(path: str, data: bytes, session: Session) -> FileResult:
    """The places of devices and backends in a file that is not edited, whatever their status. Never raises."""
    file_kind = kind(path)
    if file_kind == NOTEBOOK:
        return analyse(path, data, session)
    if file_kind != PYTHON:
        from porter.analysis.text import places

        if not concerns(file_kind, data):
            return unread(path, data)
        return guarded(path, data, session, lambda result: places(file_kind, result, data, session))

    def look(result: FileResult) -> FileResult:
        from porter.analysis.file import File
        from porter.python.source import Source
        from porter.python.strings.literals import lines_to_look_at
        from porter.python.strings.sites import sites_of

        source = Source(data)
        if not lines_to_look_at(source):
            return result
        sites, ties = sites_of(File(path, source, session))
        return replace(result, sites=sites, ties=ties)

    return guarded(path, data, session, look)


def ties(path: str, data: bytes, session: Session, words: Sequence[str]) -> FileResult:
    """The pairs of holders in a file of Python that have one value, from names with these last words on. Never raises."""

    def look(result: FileResult) -> FileResult:
        from porter.analysis.file import File
        from porter.python.source import Source
        from porter.python.strings.holders import Holders
        from porter.python.strings.ties import Ties

        file = File(path, Source(data), session)
        return replace(result, ties=Ties(file, Holders(file.names, file.facts.accelerators.functions)).beside(words))

    return guarded(path, data, session, look)
