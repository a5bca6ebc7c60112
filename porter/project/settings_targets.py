"""Finds the files whose classes a program makes by the names that stand in settings: `_target_: project.train.Trainer` of hydra,
and `model: project.net.Model` where a program imports what an option names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from porter.files.kinds import YAML, kind_of
from porter.project.imports import Project
from porter.project.loaded_names import loads_any
from porter.regex import lazy

_MAKES = lazy(rb"\b(?:get_class|get_object|get_method|instantiate|call)\(")
_TARGET = lazy(rb"_target_[ \t]*:[ \t]*[\"']?([A-Za-z_]\w*(?:\.\w+)+)")
# any value that looks like a class in a module
_CLASS = lazy(
    rb"^[ \t]*[\w-]+[ \t]*:[ \t]*[\"']?([A-Za-z_]\w*(?:\.\w+)*\.[A-Z]\w*)[\"']?[ \t]*(?:#[^\n]*)?\r?$", re.MULTILINE
)


def makes_targets(text: bytes) -> bool:
    """Whether a program makes what its settings name."""
    return b"hydra" in text and _MAKES.search(text) is not None or loads_any(text)


def targets(files: Iterable[str], read: Callable[[str], bytes], project: Project) -> frozenset[str]:
    """The files of the project that settings name. `read` reads a settings file."""
    texts = (read(path) for path in files if kind_of(path) == YAML)
    names = {name.decode() for text in texts for name in (*_TARGET.findall(text), *_CLASS.findall(text))}
    modules = {name.rpartition(".")[0] for name in names}
    return frozenset(file for module in modules for file in project.named("", module))
