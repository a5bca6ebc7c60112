"""Scripts and settings files of a project as text: what launches it, and with which values."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from porter.files.all_files import everything
from porter.files.errors import FilesError
from porter.files.kinds import DOCKERFILE, INI, JSON, MAKEFILE, SHELL, TOML, YAML, kind_of
from porter.files.read import read
from porter.files.root import is_marked
from porter.regex import lazy

SPEAKS = frozenset({SHELL, MAKEFILE, DOCKERFILE, YAML, JSON, TOML, INI})
MARK = b"# Written by porter env"  # what porter wrote says nothing of the repository
LARGEST = 200_000  # settings and scripts of more bytes are data
ASIDE = lazy(r"(?:^|/)(?:tests?|testing|docs?)/|(?:^|/)(?:test_|conftest)")  # what is no part of a training run


def spoken(root: Path, exclude: Iterable[str] = (), paths: Sequence[str] = (".",)) -> Iterator[tuple[str, bytes]]:
    """Of the whole project, also where only some of its files are named; of what nothing marks as one, nothing."""
    if not any(os.path.isdir(path) for path in paths) and not is_marked(root):
        return
    for path in everything(root, exclude):
        if kind_of(path) in SPEAKS and not ASIDE.search(path):
            try:
                data = read(root / path, path, limit=LARGEST)
            except FilesError:
                continue
            if not data.startswith(MARK):
                yield path, data
