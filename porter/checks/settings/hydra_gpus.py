"""`gpus_per_node: 8` of Hydra's launcher for submitit: it asks Slurm for GPUs alone, as a call of submitit does."""

from __future__ import annotations

from collections.abc import Iterator

from porter.engine.rule import Hit, TextRule, named
from porter.regex import lazy
from porter.text.document import Document
from porter.text.settings.entries import Settings

_ASKS = lazy(r"gpus_per_(?:node|task)|(?:mem|cpus|ntasks)_per_gpu")
_NOTHING = frozenset({"", "0", "null", "~", "None"})
_LAUNCHER = "launcher"


class HydraGpus(TextRule):
    code = "PRT821"
    reads = "settings"

    def look(self, document: Document, settings: Settings) -> Iterator[Hit]:
        if "submitit" not in document.text:
            return
        is_launcher = f"/{_LAUNCHER}/" in f"/{document.path}"
        asked = [
            entry
            for entry in settings.entries
            if _ASKS.fullmatch(entry.name)
            and entry.value not in _NOTHING
            and (entry.path[-2:-1] == (_LAUNCHER,) or is_launcher and len(entry.path) == 1)
        ]
        if asked:
            values = named(option=", ".join(dict.fromkeys(entry.name for entry in asked)))
            yield Hit((asked[0].start, asked[0].end), "submitit", values=values)
