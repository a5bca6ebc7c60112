"""Finds files that only programs for TensorRT or PyCUDA import: no NPU host runs these programs, so that nobody there runs the files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from porter.project.entry_scripts import acts, is_guarded
from porter.project.imports import Import, Project
from porter.rulebook.table import hints

_PACKAGES = hints("never-on-an-npu-host")
_WORDS = tuple(sorted(name.encode() for name in _PACKAGES))


def lost_files(texts: Mapping[str, bytes], project: Project) -> tuple[str, ...]:
    """The files, without the programs themselves: in these the import tells it."""
    naming = (path for path, data in texts.items() if any(word in data for word in _WORDS))
    programs = {path for path in naming if _is_lost(project.read(path))}
    if not programs:
        return ()
    users: dict[str, set[str]] = {}
    for path in texts:
        for used in project.files(path):
            users.setdefault(used, set()).add(path)
    lost, asked = set(programs), [*programs]
    while asked:
        for used in sorted(project.files(asked.pop()) - lost):
            if users[used] <= lost and not _may_start(used, texts[used]):
                lost.add(used)
                asked.append(used)
    return tuple(sorted(lost - programs))


def _is_lost(statements: Iterable[Import]) -> bool:
    return any(_PACKAGES & _names(statement) for statement in statements if statement.outermost)


def _names(statement: Import) -> frozenset[str]:
    """`pycuda` and `pycuda.driver`"""
    words = statement.module.split(".")
    return frozenset(".".join(words[: size + 1]) for size in range(len(words)))


def _may_start(path: str, text: bytes) -> bool:
    """Whether somebody may start a file that others import."""
    return path.endswith("__init__.py") or is_guarded(text) or acts(text)
