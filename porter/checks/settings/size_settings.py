"""The sizes of a model in a settings file that the matrix unit has to fill up: notes, at most one for each value."""

from __future__ import annotations

from collections.abc import Iterator

from porter.engine.rule import Hit, TextRule
from porter.regex import lazy
from porter.text.document import Document
from porter.text.settings.entries import Entry, Settings
from porter.text.settings.scope import PROJECT, scope
from porter.values.shapes import misfits

# what does not train here, or belongs to weights that are published already and have these sizes
_APART = lazy(r"(?:^|/)(?:tests?|docs?|evals?|fixtures?|pre-?trained(?:[_-]\w+)?)/|(?:^|/)test_")

_HEAD = lazy(r"LM|Head|For[A-Z]")
_PADS = "pad_vocab_size_multiple"


class SizeSettings(TextRule):
    code = "PRT640"
    reads = "settings"

    def look(self, document: Document, settings: Settings) -> Iterator[Hit]:
        if scope(document, settings) != PROJECT:
            return
        if _APART.search(document.path):
            return
        groups: dict[int, dict[str, Entry]] = {}
        for entry in settings.entries:
            if not entry.quoted and entry.value.isdecimal() and len(entry.value) < 20 and entry.path:
                groups.setdefault(entry.owner, {})[entry.path[-1].rpartition(".")[2].lower().replace("-", "_")] = entry
        is_padded = any(_PADS in group for group in groups.values()) or _has_no_head(settings)
        for group in groups.values():
            for key, misfit in misfits({key: int(entry.value) for key, entry in group.items()}).items():
                if is_padded and key.startswith("vocab"):
                    continue  # the program pads it when it builds the model, or nothing is multiplied with it
                entry = group[key]
                values = misfit.values(entry.name)
                yield Hit((entry.start, entry.end), misfit.why, code="PRT640", values=values, optional=True)


def _has_no_head(settings: Settings) -> bool:
    """`"architectures": ["BertModel"]`: a model that is not asked for words, so that its vocabulary is a table alone."""
    names = [entry.value for entry in settings.entries if "architectures" in entry.path]
    return bool(names) and all(name.endswith("Model") and not _HEAD.search(name) for name in names)
