"""The code that a log is of: which of its files a frame of a traceback is in, and what porter finds there.

A path out of a log is only ever compared with the names of files that the repository has; it is never opened.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from porter.diagnose.traces import Frame
from porter.files.documents import Json

if TYPE_CHECKING:
    from porter.rulebook.texts import Texts
    from porter.run.run import Run

ELSEWHERE = ("/site-packages/", "/dist-packages/", "/lib/python3", "<")


class Place(NamedTuple):
    """One finding."""

    path: str
    line: int
    end_line: int
    code: str
    severity: str
    status: str
    message: str


class Spot(NamedTuple):
    """A frame, in the repository."""

    path: str
    line: int
    sure: bool  # whether the line there is the one of the traceback; where not, the report says so


class Repository:
    def __init__(self, paths: list[str], places: list[Place], lines: Callable[[str], list[str] | None]) -> None:
        self._by_name: dict[str, list[str]] = {}
        for path in sorted(paths):
            self._by_name.setdefault(path.rpartition("/")[2], []).append(path)
        self.places = places
        self._by_path: dict[str, list[Place]] = {}
        for place in places:
            self._by_path.setdefault(place.path, []).append(place)
        self._lines = lines
        self.size = len(paths)

    def spot(self, frame: Frame) -> Spot | None:
        file = frame.file.replace("\\", "/")
        if any(part in file for part in ELSEWHERE):
            return None
        names = self._by_name.get(file.rpartition("/")[2], ())
        whole = f"/{file.removeprefix('./').lstrip('/')}"
        fitting = [path for path in names if whole.endswith(f"/{path}")]
        if not fitting:
            return None
        path = max(fitting, key=len)
        lines = self._lines(path)
        if lines is None or not frame.source:
            return Spot(path, frame.line, False)
        wanted = frame.source.strip()
        if 0 < frame.line <= len(lines) and lines[frame.line - 1].strip() == wanted:
            return Spot(path, frame.line, True)
        same = [number for number, line in enumerate(lines, 1) if line.strip() == wanted]
        if len(same) == 1:  # the file has changed since
            return Spot(path, same[0], True)
        # The line is not in it, or more than once. A path that fits with a folder is the same file, changed since.
        # One that fits by its bare name is another file.
        return Spot(path, frame.line, False) if path.count("/") >= 1 and frame.line <= len(lines) else None

    def at(self, spots: list[Spot]) -> list[Place]:
        """What is found at frames, whatever it is; at the innermost first."""
        places = [
            place
            for spot in reversed(spots)
            for place in self._by_path.get(spot.path, ())
            if place.line <= spot.line <= place.end_line
        ]
        return list(dict.fromkeys(places))

    def of(self, codes: tuple[str, ...], near: list[Spot]) -> list[Place]:
        """Findings of these codes: first at the frames, the innermost first, then in their files, then the rest."""
        order = {code: index for index, code in enumerate(codes)}
        places = [place for place in self.places if place.code in order]
        lines = {spot: index for index, spot in enumerate(reversed(near))}
        files: dict[str, int] = {}
        for spot, index in lines.items():
            files.setdefault(spot.path, index)

        def rank(place: Place) -> tuple[int, int, int, str, int]:
            indexes = [
                index
                for spot, index in lines.items()
                if spot.path == place.path and place.line <= spot.line <= place.end_line
            ]
            return (min(indexes, default=999), files.get(place.path, 999), order[place.code], place.path, place.line)

        return sorted(places, key=rank)


def of_run(run: Run, texts: Texts, lang: str) -> Repository:
    """Of an analysis that has just been made."""
    from porter.files.errors import FilesError

    def lines(path: str) -> list[str] | None:
        try:
            return run.data(path).decode("utf-8", "replace").splitlines()
        except FilesError:
            return None

    places = [
        Place(f.path, f.line, max(f.end_line, f.line), f.code, f.severity, f.status, texts.message(f, lang))
        for file in run.files
        for f in file.findings
        if f.suppressed is None
    ]
    return Repository([file.path for file in run.files], places, lines)


def of_document(document: Json) -> Repository:
    """Of what `porter analyze --output findings.json` wrote."""
    places = [
        Place(f["path"], f["line"], max(f["end_line"], f["line"]), f["code"], f["severity"], f["status"], f["message"])
        for f in document["findings"]
        if f["suppressed"] is None
    ]
    return Repository([file["path"] for file in document["files"]], places, lambda path: None)
