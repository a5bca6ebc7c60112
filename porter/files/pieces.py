"""What a copy of a tree consists of, and where its symlinks lead."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

from porter.files.discover import VCS, Walk
from porter.files.errors import FilesError, reason
from porter.files.read import digest, digest_of
from porter.files.record import FILE, FOLDER, LINK, OWN, State


class Piece(NamedTuple):
    """What the copy gets at a path."""

    kind: str
    source: str  # whose mode it has; whose bytes, too, where `data` is None
    data: bytes | None = None
    text: str = ""  # of a link

    def state(self) -> State:
        if self.kind == LINK:
            return State(LINK, self.text)
        with as_files_error("unreadable", self.source):
            return State(FILE, digest_of(self.source) if self.data is None else digest(self.data))


def pieces_of(
    walk: Walk, whole: Walk, files: Mapping[str, bytes | None], skip: str | None, unported: list[str]
) -> dict[str, Piece]:
    """By path, a folder before what is in it."""
    plan = dict(_tree(walk, skip))
    ported = {whole.absolute(path): data for path, data in files.items()}
    for file in ported:
        if (path := walk.relative(file)) is not None:
            if ported[file] is None:
                plan.pop(path, None)
                continue
            plan[path] = FILE
            plan.update(dict.fromkeys(_above(path), FOLDER))
    pieces = {}
    for path in sorted(plan):
        file_path = walk.absolute(path)
        real = os.path.realpath(file_path) if plan[path] == LINK else file_path
        if plan[path] == FOLDER:
            pieces[path] = Piece(FOLDER, file_path)
        elif plan[path] == FILE or (walk.relative(real) is None and real in ported):
            pieces[path] = Piece(FILE, real, ported.get(real))
            if real not in ported and not os.access(real, os.R_OK):
                raise FilesError("unreadable", path=path, error="Permission denied")
        else:
            pieces[path] = Piece(LINK, file_path, text=_aim(walk, path))
            if walk.relative(real) is None and whole.relative(real) is not None and os.path.isdir(real):
                unported.append(path)
    return pieces


def _aim(walk: Walk, path: str) -> str:
    """What the link at `path` holds in a copy of the tree of `walk`.

    A link to a place in the tree, there or not, leads to the same place of the copy, never back into the original. A
    link to elsewhere leads where it did. A dangling link to elsewhere is copied as it is.
    """
    link = walk.absolute(path)
    text = os.readlink(link)
    target = os.path.realpath(link)
    if walk.relative(target) is None:
        return target if os.path.exists(link) and not os.path.isabs(text) else text
    if _stays_inside(walk, os.path.dirname(link), text):
        return text
    return os.path.relpath(target, os.path.dirname(link))


def _stays_inside(walk: Walk, folder: str, text: str) -> bool:
    """Whether no step on the way leaves the tree: outside of it, the copy has other neighbours."""
    if os.path.isabs(text):
        return False
    place = folder
    for part in text.replace("/", os.sep).split(os.sep):
        place = os.path.dirname(place) if part == ".." else os.path.realpath(os.path.join(place, part))
        if walk.relative(place) is None:
            return False
    return True


def _above(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:depth]) for depth in range(1, len(parts))]


def _tree(walk: Walk, skip: str | None) -> Iterator[tuple[str, str]]:
    stack = [""]
    while stack:
        folder = stack.pop()
        with as_files_error("unreadable", folder or "."):
            inside = walk.inside(folder)
        if inside is None:
            continue
        if folder:
            yield folder, FOLDER
        entries, chain = inside
        for name, entry in entries.items():
            path = f"{folder}/{name}" if folder else name
            directory = entry.is_dir(follow_symlinks=False)
            if path == skip or name in VCS or walk.ignored(chain, path, name, directory):
                continue
            if directory:
                if name in OWN:
                    raise FilesError("out-reserved", path=path)
                stack.append(path)
            elif name in OWN:
                continue
            elif entry.is_symlink():
                yield path, LINK
            elif entry.is_file():
                yield path, FILE


@contextmanager
def as_files_error(key: str, path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise FilesError(key, path=path, error=reason(error)) from None
