"""What the documented differences of a target did to a program's numbers, said to a person, from its data."""

from __future__ import annotations

from collections.abc import Iterator

from porter.files.documents import Json
from porter.rulebook.words import speaker
from porter.verify.aligned import aligned

say = speaker("verify")

_MOST = 3  # operators of one difference
_TOGETHER, _AGAIN = "together", "again"


def differs(name: str, lang: str) -> str:
    """What a run with a difference is called."""
    return say(f"effect.{name}", lang) if name in (_TOGETHER, _AGAIN) else name


def lines(data: Json, lang: str) -> Iterator[str]:
    effects = data["effects"]
    yield ""
    yield say("sensitivity", lang, chip=data["chip"])
    yield from (_again(effect, lang) for effect in effects if effect["name"] == _AGAIN)
    shown = [effect for effect in effects if effect["name"] != _AGAIN and effect["state"] == "ran"]
    if shown:
        heads = ("difference", "loss", "from", "grad_norm", "from", "update", "calls")
        yield ""
        yield from aligned([[say(f"column.{head}", lang) for head in heads], *(_row(effect, lang) for effect in shown)])
        yield say("sensitivity.cells", lang)
    for effect in effects:
        if effect["name"] != _AGAIN and effect["state"] != "unused":
            yield from _explained(effect, lang)
    yield ""
    unused = [effect["name"] for effect in effects if effect["state"] == "unused"]
    if unused:
        yield say("sensitivity.unused", lang, names=", ".join(unused))
    if data["unreached_operators"]:
        yield say("sensitivity.unreached", lang, names=", ".join(data["unreached_operators"]))
    yield say("sensitivity.claims", lang)


def _again(effect: Json, lang: str) -> str:
    moved = [series for series in effect["series"] if series["first"] is not None or series["missing"]]
    if not moved:
        return say("sensitivity.same", lang)
    furthest = max(series["largest_relative_difference"] for series in moved)
    return say("sensitivity.uncertain", lang, furthest=f"{furthest:.2g}")


def _row(effect: Json, lang: str) -> list[str]:
    by_default = effect.get("by_default", True)
    name = differs(effect["name"], lang) + ("" if by_default else say("sensitivity.off-by-default", lang))
    cells = [name + ("" if effect["ended"] == "ended" else say("sensitivity.failed", lang))]
    for kind in ("loss", "grad_norm"):
        found = [series for series in effect["series"] if series["name"].split(" ")[0] == kind]
        begun = [series["first"] + 1 for series in found if series["first"] is not None]
        cells += [_cell(found, "largest_relative_difference"), str(min(begun)) if begun else "-"]
    cells.append(_cell(effect["first_updates"], "relative_difference"))
    cells.append(say("calls", lang, changed=effect["calls_changed"], all=max(effect["calls"], effect["calls_changed"])))
    return cells


def _cell(found: list[Json], relative: str) -> str:
    if not found:
        return "-"
    part, whole = (max(item[key] for item in found) for key in (relative, "largest_absolute_difference"))
    return f"{part:.2g} ({whole:.2g})" if part or whole else "0"


def _explained(effect: Json, lang: str) -> Iterator[str]:
    name = effect["name"]
    yield ""
    if name == _TOGETHER:
        yield say("effect.together.what", lang, names=", ".join(effect["of"]))
    else:
        yield f"{name}: {say(f'difference.{name}', lang)}"
        yield "  " + say("source", lang, grade=effect["grade"], source=effect["source"])
        yield "  " + say(f"difference.{name}.assumed", lang)
        if effect["state"] == "off":
            yield "  " + say("sensitivity.off", lang)
        elif effect["setting"]:
            key = "setting.off" if effect["by_default"] else "setting.on"
            yield "  " + say(key, lang, setting=effect["setting"])
    yield from (f"  {line}" for line in _ended(effect, lang))
    for operator in effect["operators"][:_MOST] if name != _TOGETHER else ():
        yield "  " + _operator(operator, lang)
    for series in effect["series"]:
        if series["missing"]:
            yield "  " + say("sensitivity.missing", lang, name=series["name"], n=series["missing"])


def _ended(effect: Json, lang: str) -> Iterator[str]:
    if effect["ended"] in ("ended", "not-run"):
        return
    yield say(f"ended.{effect['ended']}", lang, detail=effect["detail"])
    for error in effect["errors"]:
        key = "error" if error["where"] else "error.nowhere"
        first = (error["text"].splitlines() or [""])[0]
        yield say(key, lang, kind=error["type"], where=error["where"], text=first)


def _operator(operator: Json, lang: str) -> str:
    where = operator["where"] or say("operators.inside", lang)
    moved = operator["largest_relative_difference"]
    key = "changed" if moved is None else "moved"
    return say(
        f"operator.{key}", lang, name=operator["name"], where=where, n=operator["changed"], moved=f"{moved or 0:.2g}"
    )
