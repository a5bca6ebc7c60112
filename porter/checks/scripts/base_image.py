"""The image that a Dockerfile builds on, where it is one for GPUs."""

from __future__ import annotations

from collections.abc import Iterator

from porter.engine.rule import Hit, TextRule
from porter.text.document import Document
from porter.text.shells.script import Script


class BaseImage(TextRule):
    code = "PRT823"
    reads = "script"

    def look(self, document: Document, script: Script) -> Iterator[Hit]:
        for start, end, image in script.images:
            yield Hit((start, end), "image", values=(("image", image),))
