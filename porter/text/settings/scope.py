"""Which settings files are about the training (PROJECT), which configure continuous integration (PIPELINE), and which are
data or for NPUs already (NOTHING)."""

from __future__ import annotations

from porter.files.kinds import JSON, kind_of
from porter.regex import lazy
from porter.rulebook.table import any_of, hint
from porter.text import packages
from porter.text.document import Document
from porter.text.settings.entries import MOST, Settings

NOTHING, PIPELINE, PROJECT = "nothing", "pipeline", "project"
_DATA = hint("settings-that-are-data")
_PIPELINE = lazy(any_of("settings-of-a-pipeline"))
_INTERFACE = lazy(any_of("key-of-an-interface"))


def scope(document: Document, settings: Settings) -> str:
    if not settings.whole or len(settings.entries) > MOST or _DATA.search(document.path):
        return NOTHING
    if document.path in document.session.facts.accelerators.npu_twins or packages.for_npus(document.path):
        return NOTHING  # the file for NPUs stands beside it, or is it
    if any(len(entry.path) == 1 and _INTERFACE.fullmatch(entry.path[0]) for entry in settings.entries):
        return NOTHING  # it describes to callers what a server takes and answers: nobody reads its examples as a device
    if kind_of(document.path) == JSON and _is_record(settings):
        return NOTHING
    return PIPELINE if _PIPELINE.search(document.path) else PROJECT


def _is_record(settings: Settings) -> bool:
    """Whether a file says what was measured, and with which settings, as lm-evaluation-harness writes it: `results`, each with its
    numbers by name, beside `config`."""
    tops = {entry.path[0] for entry in settings.entries if entry.path}
    return "config" in tops and any(
        entry.path[0] == "results" and len(entry.path) > 2 for entry in settings.entries if entry.path
    )
