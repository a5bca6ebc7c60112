"""Markdown and reStructuredText: pages that tell people what to run. Nothing is edited."""

from __future__ import annotations

from porter.text.document import Document

MARK, READS = "", "page"


def read(document: Document) -> str:
    return document.text
