"""Pipelines that ask for machines with GPUs: said once for a file."""

from __future__ import annotations

from collections.abc import Iterator

from porter.engine.rule import Hit, TextRule
from porter.regex import lazy
from porter.text.document import Document
from porter.text.settings.entries import Settings
from porter.text.settings.scope import PIPELINE, scope

_ON_GPUS = lazy(
    r"(?i)(?:^|\s)--gpus\b|\bnvidia/cuda|\bnvcr\.io/|nvidia-smi|(?:^|[-_\s\[])(?:gpu|cuda|nvidia)(?:$|[-_\s\],])"
)
_RUNNERS = ("runs-on", "image", "options", "tags", "container", "runner", "agents")


class PipelineGpus(TextRule):
    code = "PRT832"
    reads = "settings"

    def look(self, document: Document, settings: Settings) -> Iterator[Hit]:
        if scope(document, settings) != PIPELINE:
            return
        for entry in settings.entries:
            if entry.name in _RUNNERS and _ON_GPUS.search(entry.value):
                values = (("old", " ".join(entry.value.split())[:60]),)
                yield Hit((entry.start, entry.end), "pipeline", values=values)
                return
