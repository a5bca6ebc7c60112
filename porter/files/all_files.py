"""Every file of a project, whatever it is called: launch scripts hand values to the Python files."""

from __future__ import annotations

import os
from collections.abc import Iterable

from porter.files.discover import Walk


def everything(root: str | os.PathLike[str], exclude: Iterable[str] = ()) -> list[str]:
    """Paths below `root`, sorted, without what a run leaves out; links and places that cannot be read are passed by."""
    walk = Walk(root, exclude)
    paths, stack = [], [""]
    while stack:
        folder = stack.pop()
        try:
            entries, chain = walk.inside(folder) or ({}, ())
        except OSError:
            continue
        for name, entry in entries.items():
            path = f"{folder}/{name}" if folder else name
            directory = entry.is_dir(follow_symlinks=False)
            if entry.is_symlink() or walk.ignored(chain, path, name, directory):
                continue
            if directory:
                stack.append(path)
            elif entry.is_file(follow_symlinks=False):
                paths.append(path)
    return sorted(paths)
