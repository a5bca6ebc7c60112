"""One file of a run with its edits, as `porter migrate` shows and writes them. What that command says stands in
rules/words/report.toml, as `migrate.*` and `left.*`."""

from __future__ import annotations

from dataclasses import dataclass

from porter.finding import Change, FileResult, apply
from porter.report.findings import stands_in_the_way


@dataclass(frozen=True, slots=True)
class Edited:
    """One file with its edits."""

    result: FileResult
    data: bytes
    main: tuple[Change, ...]  # the edits that this run makes
    more: tuple[Change, ...]  # the automatic edits and those for review
    notes: int  # how many of them are comments of --annotate

    @property
    def changed(self) -> bool:
        return apply(self.data, self.main) != self.data

    def places(self, unsafe: bool) -> int:
        """How many findings that stand in the way this run edits."""
        made = ("auto", "review") if unsafe else ("auto",)
        return sum(
            f.status in made and f.suppressed is None and stands_in_the_way(f.code, f.severity)
            for f in self.result.findings
        )
