"""Folders of the project that are installed, and built of its own CUDA sources: `submodules/simple-knn`."""

from __future__ import annotations

import posixpath

from porter.engine.rule import Hit, named
from porter.text.document import Document


def built_here(document: Document, written: str, at: tuple[int, int]) -> Hit | None:
    """What is said of a path in a list or a command, from the folder of the file or from the root, if such a folder lies there."""
    folders = document.session.facts.native.built.folders
    if not folders or "/" not in written:
        return None
    beside = document.path.rpartition("/")[0]
    for folder in (posixpath.normpath(f"{beside}/{written}".lstrip("/")), posixpath.normpath(written)):
        if folder in folders:
            return Hit(at, "built-here", code="PRT401", values=named(name=folder))
    return None
