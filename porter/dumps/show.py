"""The document as text for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from porter.compare.show import PLACES, listed, place_line, verdict_line
from porter.dumps.document import say, shown
from porter.files.documents import Json
from porter.files.errors import printable
from porter.report.sanitise import line
from porter.terminal import columns, pad

if TYPE_CHECKING:
    from porter.terminal import Line

_NUMBERS = ("inputs", "outputs", "allowed")


def lines(found: Json, lang: str) -> list[Line]:
    rows: list[Line] = [[(text, "dim")] for text in heads(found, lang)]
    rows += [[], verdict_line(say("verdict", lang), found)]
    if found["outcome"] != "none":
        if found["place"]:
            rows.append([("  " + found["place"]["text"], "")])
        rows += listed(say("evidence", lang), [fact["text"] for fact in found["evidence"]])
        rows += listed(say("next", lang), found["next"]) + _stack(found, lang) + _course(found, lang)
    return [*rows, [], *([(line(text), "dim")] for text in tails(found, lang))]


def heads(found: Json, lang: str) -> list[str]:
    return [
        say("side", lang, role=say(side["role"], lang), name=printable(side["path"]), head=printable(side["dump"]))
        for side in found["sides"]
    ]


def tails(found: Json, lang: str) -> list[str]:
    """How much was compared, and by what measure; notes."""
    about, floor = found["aligned"], found["floor"]
    counts = {"missing": len(about["missing"]), "extra": len(about["extra"])}
    rows = [say("aligned", lang, n=about["pairs"], one=about["baseline"], other=about["candidate"], **counts)]
    if floor:
        rows.append(say("floor", lang, floor=f"{floor:.2g}", how=say(f"floor.{found['by']}", lang)))
    return rows + [note["text"] for note in found["notes"]]


def frame_text(frame: Json) -> str:
    return line(f"{frame['file']}:{frame['line']} {frame['function']}: {frame['source']}")


def repository_key(about: Json) -> str:
    if about["places"]:
        return "places"
    return "places.none" if about["spots"] else "places.absent"


def _stack(found: Json, lang: str) -> list[Line]:
    frames, about = found["stack"]["frames"], found["repository"]
    if not frames:
        return []
    rows = listed(say("stack", lang, role=say(found["stack"]["of"], lang)), [frame_text(frame) for frame in frames])
    if about:
        key = repository_key(about)
        rows += [[], [(say(key, lang, root=printable(about["root"])), "bold" if key == "places" else "")]]
        rows += [place_line(place) for place in about["places"]]
        if about["near"]:
            rows += [[], [(say("places.near", lang), "bold")], *map(place_line, about["near"][:PLACES])]
    return rows


def _course(found: Json, lang: str) -> list[Line]:
    """A table, with a mark at the call that is told."""
    if not found["course"]:
        return []
    header = ["  " + say("course.call", lang), *(say(f"course.{key}", lang) for key in _NUMBERS)]
    table = [(header, "dim")]
    for row in found["course"]:
        is_told = row["baseline"] == found["place"]["baseline"]
        cells = [("> " if is_told else "  ") + line(row["baseline"]), *(shown(row[key]) for key in _NUMBERS)]
        table.append((cells, "bold" if is_told else ""))
    widths = [max(map(columns, column)) for column in zip(*(cells for cells, _ in table))]
    rows: list[Line] = [[], [(say("course", lang), "bold")]]
    for cells, style in table:
        rows.append(
            [("  ".join(pad(cell, width, at > 0) for at, (cell, width) in enumerate(zip(cells, widths))), style)]
        )
    return rows
