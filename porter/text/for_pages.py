"""Lists of requirements that only build a project's documentation: what builds pages imports torch, and runs nothing on a
device."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from porter.engine.rule import Hit
from porter.regex import lazy
from porter.text.document import Document

_PAGES = lazy(
    r"(?i)(?:^|/)docs?/|(?:^|[/_.-])(?:docs?|rtd|readthedocs)(?:[_.-]?(?:requirements?|environment))?\.(?:txt|in|ya?ml)$"
)


def set_aside(document: Document, hits: Iterable[Hit]) -> Iterator[Hit]:
    """The hits of a list; of one for pages, the line of torch stays as it is, whatever its version, and those of packages for
    GPUs."""
    path, told = document.path, set()
    builds_pages = _PAGES.search(path) and path not in document.session.facts.lists.installed
    for hit in hits:
        if not builds_pages or hit.code == "PRT841":
            yield hit
        elif hit.at not in told:
            told.add(hit.at)
            yield replace(hit, code="PRT840", why="pages", edits=(), severity=None)
