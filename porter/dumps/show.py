"""The document as text for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from porter.dumps.document import say, shown
from porter.files.documents import Json
from porter.files.errors import printable
from porter.report.sanitise import line
from porter.terminal import columns, pad

if TYPE_CHECKING:
    from porter.terminal import Line

STYLES = {"difference": "bold red", "none": "bold green", "unsure": "bold yellow"}
_PLACES = 5


def lines(found: Json, lang: str) -> list[Line]:
    rows: list[Line] = [[(text, "dim")] for text in heads(found, lang)]
    rows += [[], [(say("verdict", lang), ""), (line(found["sentence"]), STYLES[found["outcome"]])]]
    if found["place"] and found["outcome"] != "none":
        rows.append([("  " + found["place"]["text"], "")])
    for key, texts in (("evidence", [fact["text"] for fact in found["evidence"]]), ("next", found["next"])):
        if texts and found["outcome"] != "none":
            rows += [[], [(say(key, lang), "bold")], *([("  " + line(text), "")] for text in texts)]
    if found["outcome"] != "none":
        rows += _stack(found, lang) + _course(found, lang)
    rows += [[], [(aligned_text(found, lang), "dim")]]
    if found["floor"]:
        rows.append([(floor_text(found, lang), "dim")])
    return rows + [[(line(note["text"]), "dim")] for note in found["notes"]]


def heads(found: Json, lang: str) -> list[str]:
    return [
        say("side", lang, role=say(side["role"], lang), name=printable(side["path"]), head=printable(side["dump"]))
        for side in found["sides"]
    ]


def aligned_text(found: Json, lang: str) -> str:
    about = found["aligned"]
    counts = {"missing": len(about["missing"]), "extra": len(about["extra"])}
    return say("aligned", lang, n=about["pairs"], one=about["baseline"], other=about["candidate"], **counts)


def floor_text(found: Json, lang: str) -> str:
    return say("floor", lang, floor=f"{found['floor']:.2g}", how=say(f"floor.{found['by']}", lang))


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
    rows: list[Line] = [[], [(say("stack", lang, role=say(found["stack"]["of"], lang)), "bold")]]
    rows += [[("  " + frame_text(frame), "")] for frame in frames]
    if about:
        key = repository_key(about)
        rows += [[], [(say(key, lang, root=printable(about["root"])), "bold" if key == "places" else "")]]
        rows += [_finding(place) for place in about["places"]]
        if about["near"]:
            rows += [[], [(say("places.near", lang), "bold")], *(_finding(place) for place in about["near"][:_PLACES])]
    return rows


def _finding(place: Json) -> Line:
    return [(f"  {line(place['path'])}:{place['line']}: {place['code']} {line(place['message'])}", "")]


def _marked(row: Json, found: Json) -> str:
    return ("> " if row["baseline"] == found["place"]["baseline"] else "  ") + line(row["baseline"])


def _course(found: Json, lang: str) -> list[Line]:
    if not found["course"]:
        return []
    header = [
        "  " + say("course.call", lang),
        *(say(f"course.{key}", lang) for key in ("inputs", "outputs", "allowed")),
    ]
    cells = [
        [_marked(row, found), shown(row["inputs"]), shown(row["outputs"]), shown(row["allowed"])]
        for row in found["course"]
    ]
    widths = [max(columns(row[at]) for row in (header, *cells)) for at in range(len(header))]
    rows: list[Line] = [[], [(say("course", lang), "bold")]]
    for row, style in [(header, "dim"), *((row, "bold" if row[0].startswith(">") else "") for row in cells)]:
        rows.append([("  ".join(pad(cell, width, at > 0) for at, (cell, width) in enumerate(zip(row, widths))), style)])
    return rows
