"""Two copies of a project: as it is, and ported. Neither run writes into the user's tree."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from porter.errors import UserError
from porter.files.copy import write_copy
from porter.files.discover import VCS, Walk

_LARGEST = 2 << 30


def make(root: Path, ported: Mapping[str, bytes], into: Path) -> tuple[Path, Path]:
    """Copies of the tree at `root`; what .gitignore names, data as a rule, is reached through links."""
    _check_size(root)
    original, port = into / "original", into / "ported"
    write_copy(root, original, {})
    write_copy(root, port, ported)
    for copy in (original, port):
        _link_the_rest(root, copy)
    return original, port


def _link_the_rest(root: Path, copy: Path) -> None:
    for entry in sorted(os.scandir(root), key=lambda entry: entry.name):
        there = copy / entry.name
        if entry.name in VCS:
            continue
        if not os.path.lexists(there):
            os.symlink(entry.path, there, target_is_directory=entry.is_dir())
        elif entry.is_dir(follow_symlinks=False):
            _link_the_rest(Path(entry.path), there)


def _check_size(root: Path) -> None:
    total = 0
    walk = Walk(root)
    for folder, folders, files in os.walk(root):
        inside = "" if folder == str(root) else os.path.relpath(folder, root).replace(os.sep, "/") + "/"
        folders[:] = [name for name in folders if not walk.is_left_out(inside + name, True)]
        for name in files:
            if not walk.is_left_out(inside + name, False):
                total += os.lstat(os.path.join(folder, name)).st_size
        if total > _LARGEST:
            raise UserError(
                f"{root.name}: more than {_LARGEST >> 30} GB to copy for the two runs; name data folders in .gitignore "
                "(they are linked, not copied), or port first and use --original OLD --ported NEW"
            )
