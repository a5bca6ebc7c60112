"""The document as sections: tables and notes in words. show.py makes text and page of them."""

from __future__ import annotations

from collections.abc import Iterator

from porter.files.documents import Json
from porter.files.errors import printable
from porter.profiles.cells import change, kind, ms, percent, short, signed
from porter.profiles.document import calls_text
from porter.profiles.side import Section, of_side
from porter.rulebook.words import speaker, words

say = speaker("profiles")
_SIDES = ("A", "B")
# what no profile of such a device could say
_FOREIGN = {
    "npu": {"copies"},
    "gpu": {"aicpu", "bubble", "preparing"},
    "cpu": {"aicpu", "bubble", "preparing", "copies"},
}


def sections(document: Json, lang: str) -> Iterator[Section]:
    sides = document["profiles"]
    yield Section("", (), [], list(_heads(sides, lang)))
    yield _formula(sides, lang)
    yield _next(document, lang)
    if document["compared"]:
        yield from _of_compared(document["compared"], lang)
    for label, side in _labelled(sides):
        yield from of_side(label, side, lang)
    yield Section(say("absent", lang), (), [], list(_absent(sides, lang)))


def _labelled(sides: list[Json]) -> list[tuple[str, Json]]:
    return list(zip(_SIDES if len(sides) > 1 else ("",), sides))


def _heads(sides: list[Json], lang: str) -> Iterator[str]:
    for label, side in _labelled(sides):
        name = f"{label}  {side['path']}" if label else str(side["path"])
        ranks = len(side["ranks"])
        key = "head.ranks" if ranks else "head"
        device = say(f"device.{side['device']}", lang)
        steps = say("steps", lang, n=side["steps"]) if side["steps"] else say("steps.none", lang)
        yield say(key, lang, name=printable(name), device=device, steps=steps, n=ranks)
        made = ", ".join(f"{what} {version}" for what, version in side["made_with"].items())
        yield from (f"  {printable(note)}" for note in ([made] if made else []) + side["notes"])


def _formula(sides: list[Json], lang: str) -> Section:
    header = [say("part", lang)]
    for label, _ in _labelled(sides):
        header += [f"{label} ms".strip(), "%"]
    if len(sides) > 1:
        header.append(say("change", lang))
    rows = [
        _cells(
            say("step", lang), [(side["step"]["time"], 1.0 if side["step"]["time"] else None) for side in sides], lang
        )
    ]
    for parts in zip(*(side["step"]["parts"] for side in sides)):
        name = say(f"part.{parts[0]['part']}", lang)
        within = parts[0]["within"]
        name = (
            name
            if not within
            else f"  {name}"
            if within not in ("host", "hidden")
            else f"  {name} ({say(f'within.{within}', lang)})"
        )
        if any(part["time"] is not None for part in parts) or within in ("", None):
            rows.append(_cells(name, [(part["time"], part["share"]) for part in parts], lang))
    notes = [say("formula", lang)]
    if any(side["step"]["share_of"] == "kernels" for side in sides):
        notes.append(say("share.kernels", lang))
    return Section(say("title.step", lang), tuple(header), rows, notes)


def _cells(name: str, values: list[tuple[float | None, float | None]], lang: str) -> tuple[str, ...]:
    cells = [name]
    for time, share in values:
        cells += [ms(time), percent(share)]
    if len(values) > 1:
        cells.append(change(values[0][0], values[1][0]))
    return tuple(cells)


def _of_compared(compared: Json, lang: str) -> Iterator[Section]:
    for key in ("kinds", "torch", "operators"):
        rows = [
            (
                kind(row["name"], lang) if key == "kinds" else printable(short(row["name"])),
                *(cell for side in (0, 1) for cell in (calls_text(row["calls"][side]), ms(row["times"][side]))),
                signed(row["change"]),
            )
            for row in compared[key]
        ]
        if rows:
            calls = say("calls", lang)
            header = (say(f"compared.{key}", lang), f"A {calls}", "A ms", f"B {calls}", "B ms", say("change", lang))
            notes = [say("compared.profile", lang)] if compared["per"] == "profile" else []
            yield Section(say(f"title.changed.{key}", lang), header, rows, notes)
    if linear := compared["linearity"]:
        values = {"a": linear["cards"][0], "b": linear["cards"][1], "part": percent(linear["efficiency"])}
        values |= {"before": ms(linear["times"][0]), "after": ms(linear["times"][1])}
        yield Section(
            say("title.linearity", lang),
            (),
            [],
            [say("linearity" if linear["efficiency"] <= 1 else "linearity.not", lang, **values)],
        )


def _next(document: Json, lang: str) -> Section:
    notes = []
    for number, sign in enumerate(document["next"], 1):
        notes.append(
            say(
                f"next.{_base(document)}",
                lang,
                n=number,
                share=percent(sign["share"]),
                time=ms(sign["time"]),
                title=sign["title"],
            )
        )
        notes += [f"   {printable(sign['evidence'])}", f"   {sign['do']}"]
        for place in sign["places"]:
            notes.append(
                "   " + printable(f"{place['path']}:{place['line']}  {place['code'] or ''} {place['message']}".rstrip())
            )
        known = ", ".join(f"porter explain {name}" for name in sign["advice"][:2])
        notes.append(f"   {say('see', lang, names=known)}")
    if not notes:
        on_npu = any(side["device"] == "npu" for side in document["profiles"])
        notes.append(say("next.none" if on_npu else "next.no-npu", lang))
    return Section(say("title.next", lang), (), [], notes)


def _base(document: Json) -> str:
    """What the shares of the advice are of: it is about the last side that ran on NPUs."""
    return next(
        (side["step"]["share_of"] for side in reversed(document["profiles"]) if side["device"] == "npu"), "step"
    )


def _absent(sides: list[Json], lang: str) -> Iterator[str]:
    for label, side in _labelled(sides):
        files = ", ".join(side["absent"])
        foreign = _FOREIGN[side["device"]]
        parts = [p["part"] for p in side["step"]["parts"] if p["time"] is None and p["part"] not in foreign]
        named = [say(f"part.{part}", lang) for part in parts]
        lead = f"{label}: " if label else ""
        if files:
            yield lead + say("absent.files", lang, names=files)
        yield lead + say("absent.parts", lang, names=say("comma", lang).join(named))
        for part in parts:
            if f"absent.{part}" in words("profiles", lang):
                yield "  " + say(f"absent.{part}", lang)
