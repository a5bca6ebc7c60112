"""Finds copies of libraries inside of a project, and projects that are copies: llava/trl/ is trl's code, and what it says of NPUs
is not the project's."""

from __future__ import annotations

from collections.abc import Iterable

from porter.project.loads_torch import torch_libraries
from porter.regex import lazy

_URL = lazy(rb"\burl[ \t]*=[ \t]*[\"']https?://git\w+\.com/[\w.-]+/([\w-]+)")  # the repository of a package
_CLONED = lazy(rb"git clone\b[^\n]*?git\w+\.com[/:][\w.-]+/([\w-]+)")


def copied_library(path: str) -> str:
    """The folder of a copied library that holds the file; "" where there is none. A project may be that library itself: its
    folder is then the first one, or one in src."""
    parts = path.split("/")
    libraries = torch_libraries()
    for depth in range(len(parts) - 2, 0, -1):
        if parts[depth] in libraries and parts[:depth] != ["src"]:
            return "/".join(parts[: depth + 1]) + "/"
    return ""


def is_of_another(lists: Iterable[bytes], texts: Iterable[bytes]) -> bool:
    """Whether a package was copied with its description: that names a repository, and users clone another one."""
    own = {name for text in lists for name in _URL.findall(text)}
    cloned = {name for text in texts for name in _CLONED.findall(text)} if own else set()
    return bool(cloned) and own.isdisjoint(cloned)
