"""Finds copies of libraries inside of a project: llava/trl/ is trl's code, and what it says of NPUs is not the project's."""

from __future__ import annotations

from porter.project.loads_torch import torch_libraries


def copied_library(path: str) -> str:
    """The folder of a copied library that holds the file; "" where there is none. A project may be that library itself: its
    folder is then the first one, or one in src."""
    parts = path.split("/")
    libraries = torch_libraries()
    for depth in range(len(parts) - 2, 0, -1):
        if parts[depth] in libraries and parts[:depth] != ["src"]:
            return "/".join(parts[: depth + 1]) + "/"
    return ""
