"""Finds the files whose classes a program of hydra makes by the names that stand in settings: `_target_: project.train.Trainer`."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from porter.files.kinds import YAML, kind_of
from porter.project.imports import Project
from porter.regex import lazy

_MAKES = lazy(rb"\b(?:get_class|get_object|get_method|instantiate|call)\(")
_TARGET = lazy(rb"_target_[ \t]*:[ \t]*[\"']?([A-Za-z_]\w*(?:\.\w+)+)")


def makes_targets(text: bytes) -> bool:
    """Whether a program makes what its settings name."""
    return b"hydra" in text and _MAKES.search(text) is not None


def targets(files: Iterable[str], read: Callable[[str], bytes], project: Project) -> frozenset[str]:
    """The files of the project that settings name. `read` reads a settings file."""
    names = {name.decode() for path in files if kind_of(path) == YAML for name in _TARGET.findall(read(path))}
    modules = {name.rpartition(".")[0] for name in names}
    return frozenset(file for module in modules for file in project.named("", module))
