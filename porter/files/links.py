"""Where a symlink of a tree has to lead in a copy of that tree."""

from __future__ import annotations

import os

from porter.files.discover import Walk


def aim(walk: Walk, path: str) -> str:
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
