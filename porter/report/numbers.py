"""The numbers of the first screen, which mean the same in every format: counted here and nowhere else."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from porter.engine.together import paths_of
from porter.files.documents import Json
from porter.report.causes import Place, is_aside, left
from porter.rulebook.words import speaker

say = speaker("report")


class Read(NamedTuple):
    """A finding of a document, as far as that decides how it is counted."""

    path: str
    code: str
    severity: str
    status: str
    values: Json


class Numbers(NamedTuple):
    stops: int  # places left for a person where the port stops or breaks
    slows: int  # where it gets slow
    aside: int  # of both, in tests, demos, docs and tools
    automatic: int  # edits that porter makes by itself
    review: int  # edits that wait for a person
    files: int  # with automatic edits; where there are none, with edits for review

    @property
    def left(self) -> dict[str, int]:
        return {"stops": self.stops, "slows": self.slows}


def count(due: Iterable[Place]) -> Numbers:
    """Of open findings that are more than an opportunity."""
    due = list(due)
    paths = {kind: [p for f in found for p in paths_of(f.path, dict(f.values))] for kind, found in left(due).items()}
    by_status = {status: [f.path for f in due if f.status == status] for status in ("auto", "review")}
    return Numbers(
        len(paths["stops"]),
        len(paths["slows"]),
        sum(is_aside(path) for found in paths.values() for path in found),
        len(by_status["auto"]),
        len(by_status["review"]),
        len({*(by_status["auto"] or by_status["review"])}),
    )


def count_read(due: Iterable[Json]) -> Numbers:
    """Of the findings of a document."""
    return count(Read(*(f[key] for key in Read._fields)) for f in due)


def edits(numbers: Numbers, lang: str) -> str:
    """`36 automatic in 4 files, 2 for review`; "" where there is nothing to edit."""
    if not numbers.files:
        return ""
    key = "edits.auto" if not numbers.review else "edits" if numbers.automatic else "edits.review"
    values = {"auto": f"{numbers.automatic:,}", "review": f"{numbers.review:,}"}
    return say(f"screen.{key}", lang, **values, files=counted("files", numbers.files, lang))


def left_for_you(numbers: Numbers, lang: str) -> str:
    parts: list[str] = []
    for kind, n in numbers.left.items():
        if n:
            how = "more" if parts else "count"
            parts.append(say(f"screen.{kind}.{how}", lang, n=f"{n:,}", places=counted("places", n, lang)))
    aside = say("screen.aside", lang, n=f"{numbers.aside:,}") if numbers.aside else ""
    return say("screen.and", lang).join(parts) + aside if parts else say("screen.nothing", lang)


def counted(what: str, n: int, lang: str) -> str:
    return say(f"count.{what}.one" if n == 1 else f"count.{what}", lang, n=f"{n:,}")
