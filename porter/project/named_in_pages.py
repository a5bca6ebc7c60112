"""Finds the programs that a README tells people to start: `python -m sample.generate`, `torchrun tools/train.py`."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from porter.project.imports import Project
from porter.regex import lazy

_PAGES = (".md", ".rst")
_COMMAND = lazy(rb"\b(?:python3?|torchrun|accelerate[ \t]+launch|deepspeed)[ \t](?:[^\n\\]|\\\r?\n|\\)*")
_MODULE = lazy(rb"[ \t]-m[ \t]+([A-Za-z_][\w.]*)")
_FILE = lazy(rb"[ \t](?:\./)?([\w./-]+\.py)\b")


def named_in_pages(files: Iterable[str], read: Callable[[str], bytes], project: Project) -> set[str]:
    """The Python files that commands on pages start. `read` reads a page."""
    found: set[str] = set()
    for path in files:
        text = read(path) if path.endswith(_PAGES) else b""
        for command in _COMMAND.findall(text):
            if module := _MODULE.search(command):
                found.update(project.named("", module[1].decode()))
            for name in _FILE.findall(command):
                found.update(project.called(name.decode()))
    return found
