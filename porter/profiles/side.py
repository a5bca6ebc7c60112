"""One profile as sections."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from porter.files.documents import Json
from porter.files.errors import printable
from porter.profiles.cells import kind, measures, ms, name, number, percent, shapes, short
from porter.profiles.document import calls_text
from porter.rulebook.words import speaker

say = speaker("profiles")


class Section(NamedTuple):
    """The first cell of a row stands left, the others right."""

    title: str
    header: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    notes: Sequence[str]


def of_side(label: str, side: Json, lang: str) -> Iterator[Section]:
    def title(key: str) -> str:
        return f"{label}  {say(key, lang)}".strip()

    columns = (say("calls", lang), "ms", "%", say("mean", lang))
    if side["kinds"]:
        rows = [(kind(row["name"], lang), *measures(row)) for row in side["kinds"]]
        yield Section(title("title.kinds"), (say("kind", lang), *columns), rows, [])
    if side["cores"]:
        rows = [(printable(row["name"]), *measures(row)) for row in side["cores"]]
        yield Section(title("title.cores"), (say("core", lang), *columns), rows, [])
    if side["operators"]:
        rows = [(name(row), kind(row["kind"], lang), *measures(row), shapes(row)) for row in side["operators"]]
        more = side["operators_left_out"]
        notes = [say("more", lang, n=more)] if more else []
        notes += _called(side["operators"], lang)
        header = (say("operator", lang), say("kind", lang), *columns, say("shapes", lang))
        yield Section(title("title.operators"), header, rows, notes)
    yield from _torch(title, side, lang)
    yield from _host(title, side, lang)
    yield from _communication(title, side, lang)
    yield from _ranks(title, side, lang)


def _called(rows: list[Json], lang: str) -> Iterator[str]:
    """Operators that are called at the same places are named together."""
    together: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        if places := row.get("places"):
            key = (places[0]["by"], ", ".join(_place(place) for place in places))
            together.setdefault(key, []).append(name(row))
    for (by, where), names in together.items():
        yield say(f"calls.{by}", lang, name=", ".join(names), places=printable(where))


def _torch(title: Callable[[str], str], side: Json, lang: str) -> Iterator[Section]:
    """With the lines that call them, where the repository is known and the profile has call stacks."""
    rows = [
        (
            printable(short(row["name"])),
            calls_text(row["calls"]),
            ms(row["host"]),
            ms(row["device"]),
            printable(", ".join(_place(place) for place in row.get("places", ()))),
        )
        for row in side["torch"]
        if row["device"]
    ]
    if rows:
        keys = ("compared.torch", "calls", "on.host", "on.device", "place")
        yield Section(title("title.torch"), tuple(say(key, lang) for key in keys), rows, [])


def _place(place: Json) -> str:
    called = [f"({place['function']})"] if place["by"] == "name" else place["codes"]
    return " ".join((f"{place['path']}:{place['line']}", *called))


def _host(title: Callable[[str], str], side: Json, lang: str) -> Iterator[Section]:
    host = side["host"]
    notes = []
    if gaps := host["gaps"]:
        notes.append(say("gaps", lang, time=ms(gaps["time"]), n=f"{gaps['calls']:.0f}", most=ms(gaps["most"])))
    if host["waits"] is not None and not host["waits"]:
        notes.append(say("waits.none", lang))
    rows = [(printable(short(row["name"])), calls_text(row["calls"]), ms(row["time"])) for row in host["waits"] or ()]
    if rows or notes:
        yield Section(title("title.waits"), (say("api", lang), say("calls", lang), "ms"), rows, notes)


def _communication(title: Callable[[str], str], side: Json, lang: str) -> Iterator[Section]:
    if not side["communication"]:
        return
    rows = [
        (
            printable(short(row["name"])),
            calls_text(row["calls"]),
            ms(row["time"]),
            ms(row["transit"]),
            ms(row["wait"]),
        )
        for row in side["communication"]["collectives"]
    ]
    header = (say("collective", lang), say("calls", lang), "ms", say("transit", lang), say("wait", lang))
    yield Section(title("title.collectives"), header, rows, [])
    links = [
        (
            printable(row["link"]),
            f"{row['size']:.1f}",
            ms(row["time"]),
            number(row["bandwidth"]),
            percent(row["small"]),
        )
        for row in side["communication"]["links"]
    ]
    if links:
        yield Section(title("title.links"), (say("link", lang), "MB", "ms", "GB/s", say("small", lang)), links, [])


def _ranks(title: Callable[[str], str], side: Json, lang: str) -> Iterator[Section]:
    keys = ("time", "computing", "communication", "scheduling", "own", "wait")
    rows = [(printable(str(row["rank"])), *(ms(row[key]) for key in keys)) for row in side["ranks"]]
    if rows:
        times = [row["time"] for row in side["ranks"] if row["time"]]
        notes = [say("spread", lang, least=ms(min(times)), most=ms(max(times)))] if times else []
        header = (say("rank", lang), say("step", lang), *(say(f"rank.{key}", lang) for key in keys[1:]))
        yield Section(title("title.ranks"), header, rows, notes)
