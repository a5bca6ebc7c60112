"""Which directory is the project of a run."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from porter.files.errors import FilesError
from porter.files.read import LIMIT, beginning

MARKERS = (".git", "pyproject.toml", "porter.toml", "setup.py")


def _configured(folder: Path) -> bool:
    if os.path.lexists(folder / "porter.toml"):
        return True
    return b"[tool.porter" in (beginning(folder / "pyproject.toml", LIMIT) or b"")


def _repository(folder: Path) -> bool:
    return os.path.lexists(folder / ".git")


def is_marked(folder: Path) -> bool:
    return any(os.path.lexists(folder / marker) for marker in MARKERS)


def find_root(paths: Sequence[str | os.PathLike[str]]) -> Path:
    """The project that holds `paths`: what porter's configuration marks, else the repository, else the package.

    A package inside a repository is no project of its own unless it says so: a hook on one of its files and a run
    over the repository have to agree. Without any marker it is the directory that the paths have in common.
    """
    folders: list[str] = []
    for path in paths or ["."]:
        real = real_of(path)
        folders.append(real if os.path.isdir(real) else os.path.dirname(real))
    try:
        common = Path(os.path.commonpath(folders))
    except ValueError:  # two Windows drives
        raise FilesError("outside", path=os.fspath(paths[-1]), root=folders[0]) from None
    above = (common, *common.parents)
    for marks in (_configured, _repository, is_marked):
        if root := next((folder for folder in above if marks(folder)), None):
            return root
    return common


def real_of(path: str | os.PathLike[str]) -> str:
    """Absolute, with the links of every directory above resolved; a file that is a link stays one."""
    absolute = os.path.abspath(path)
    if os.path.isdir(absolute):
        return os.path.realpath(absolute)
    return os.path.join(os.path.realpath(os.path.dirname(absolute)), os.path.basename(absolute))
