"""Lines for a terminal: what a checkpoint holds, and how two differ."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from porter.checkpoint.document import say
from porter.files.documents import Json
from porter.files.errors import printable
from porter.regex import lazy
from porter.report.sanitise import line
from porter.terminal import columns, pad

if TYPE_CHECKING:
    from porter.terminal import Line

_NUMBER = lazy(r"(?<![^.])\d+(?![^.])")
_MOST = 20
_WORST = 20


def inspected(found: Json, lang: str, is_all: bool = False) -> list[Line]:
    rows: list[Line] = [[(_head(found, lang), "bold")]]
    rows += _titled("prefixes", _table([_sums(row) for row in found["prefixes"]], "lrrr"), lang)
    rows += _titled("weights", _weights(found["weights"], is_all), lang)
    for key in ("dtypes", "devices"):
        if found[key]:
            rows += [[(say(key, lang, rows=", ".join(f"{line(name)} {n:,}" for name, n in found[key].items())), "")]]
    if tied := found["tied"]:
        rows += _titled("tied", [" = ".join(map(line, names)) for names in tied[: None if is_all else _MOST]], lang)
    about = found["frozen"]
    if about["known"]:
        said = ", ".join(map(line, collapsed(about["names"])[:_MOST])) or say("none", lang)
        rows.append([(say("frozen", lang, n=len(about["names"]), known=about["known"], names=said), "")])
    for optimiser in found["optimisers"]:
        rows += _titled("optimiser", _optimiser(optimiser, lang), lang)
    if values := found["values"]:
        shown = [f"{line(name)} = {line(str(value))}" for name, value in values.items()]
        rows += _titled("values", shown[: None if is_all else _MOST], lang)
    if names := [line(row["name"]) for row in found["globals"]]:
        key = "globals.allowed" if all(row["weights_only"] for row in found["globals"]) else "globals"
        rows += [[], [(say(key, lang, n=len(names)), "")], *(_lines([", ".join(names)]) if is_all else [])]
    return rows + _notes(found["notes"])


def compared(found: Json, lang: str, is_all: bool = False) -> list[Line]:
    rows: list[Line] = [
        [(f"{say(role, lang)}: {_head(found[role], lang)}", "dim")] for role in ("baseline", "candidate")
    ]
    counts = {
        "n": found["differing"],
        "all": len(found["pairs"]),
        "missing": len(found["missing"]),
        "extra": len(found["extra"]),
    }
    style = "bold green" if found["outcome"] == "equal" else "bold red"
    rows += [[], [(say(f"verdict.{found['outcome']}", lang, **counts), style)]]
    worst = [row for row in found["pairs"] if row["differs"]]
    if worst:
        header = [say(f"column.{key}", lang) for key in ("name", "what", "max", "mean", "relative", "cosine")]
        shown = worst if is_all else worst[:_WORST]
        rows += [[], *_lines(_table([header, *[_pair(row, lang) for row in shown]], "llrrrr"))]
        if len(worst) > len(shown):
            rows.append([("  " + say("more", lang, n=len(worst) - len(shown)), "dim")])
    for key in ("missing", "extra"):
        if found[key]:
            rows += _titled(key, _weights(found[key], is_all), lang)
    ways = [row["how"] + (".transposed" if row["transposed"] else "") for row in found["pairs"]]
    known = ("exact", "name", "prefix", "joined", "shape")
    said = [say(f"how.{way}", lang, n=n) for way in known if (n := sum(w.split(".")[0] == way for w in ways))]
    if turned := sum(way.endswith(".transposed") for way in ways):
        said.append(say("how.transposed", lang, n=turned))
    rows += [[], [(say("aligned", lang, rows=say("comma", lang).join(said)), "dim")]] if said else []
    if found["without"]:
        rows.append([(say("without", lang, names=", ".join(map(line, collapsed(found["without"])[:_MOST]))), "dim")])
    for role, n in found["aside"].items():
        if n:
            rows.append([(say("aside", lang, role=say(role, lang), n=n), "dim")])
    for role in ("baseline", "candidate"):
        rows += _notes(found["notes"][role], say(role, lang) + ": ")
    return rows


def collapsed(names: Iterable[str]) -> list[str]:
    """Names that differ in numbers alone are one: layers.{0..31}.weight."""
    return [name for name, _ in _collapsed((name, "") for name in names)]


def _collapsed(rows: Iterable[tuple[str, str]]) -> list[tuple[str, int]]:
    """Of (name, what it is), where what they are is the same; and how many they are."""
    found: dict[tuple[str, str], list[list[int]]] = {}
    for name, what in rows:
        short = len(name) < 400
        key = _NUMBER.sub("{}", name) if short else name
        numbers = [int(n) for n in _NUMBER.findall(name) if len(n) < 10] if short else []
        found.setdefault((key, what), []).append(numbers)
    return [(_spelled(key, numbers), len(numbers)) for (key, _), numbers in found.items()]


def _spelled(key: str, rows: list[list[int]]) -> str:
    pieces = key.split("{}")
    text = pieces[0]
    for n, piece in enumerate(pieces[1:]):
        column = sorted({row[n] for row in rows if len(row) > n})
        if len(column) == 1:
            text += str(column[0])
        elif column and column[-1] - column[0] + 1 == len(column):
            text += f"{{{column[0]}..{column[-1]}}}"
        else:
            text += "{" + ",".join(map(str, column[:4])) + (",…" if len(column) > 4 else "") + "}"
        text += piece
    return text


def _weights(rows: list[Json], is_all: bool) -> list[str]:
    shown = [
        (row["name"], f"{line(row['dtype'])} {row['shape']}" + (f" {row['layout']}" if row.get("layout") else ""))
        for row in rows
    ]
    if is_all:
        return _table([[line(name), what, ""] for name, what in shown], "lll")
    by_name = _collapsed(shown)
    kinds: dict[tuple[str, str], None] = {}
    for name, what in shown:
        kinds.setdefault((_NUMBER.sub("{}", name) if len(name) < 400 else name, what))
    table = [[line(name), what, f"× {n}" if n > 1 else ""] for (name, n), (_, what) in zip(by_name, kinds)]
    return _table(table, "lll")


def _head(found: Json, lang: str) -> str:
    values = {"file": printable(found["file"]), "format": say(f"format.{_format(found['format'])}", lang)}
    return say(
        "head", lang, **values, n=f"{found['tensors']:,}", count=_short(found["parameters"]), size=_size(found["bytes"])
    )


def _format(name: str) -> str:
    known = ("megatron", "sharded") if name.endswith("-sharded") or name.startswith("megatron") else ()
    return next((kind for kind in known if kind in name), name)


def _short(count: int) -> str:
    for size, unit in ((10**12, " T"), (10**9, " B"), (10**6, " M")):
        if count >= size:
            return f"{count / size:.2f}{unit}"
    return f"{count:,}"


def _size(size: int) -> str:
    for unit, name in ((10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if size >= unit:
            return f"{size / unit:.2f} {name}"
    return f"{size} B"


def _sums(row: Json) -> list[str]:
    return [line(row["name"]), f"{row['tensors']:,}", _short(row["elements"]), _size(row["bytes"])]


def _optimiser(found: Json, lang: str) -> list[str]:
    states = ", ".join(f"{line(name)} × {n:,}" for name, n in found["states"].items()) or say("none", lang)
    rows = [say("states", lang, n=f"{found['parameters']:,}", states=states)]
    for n, group in enumerate(found["groups"][:_MOST]):
        settings = ", ".join(f"{line(name)} {line(str(value))}" for name, value in group.items())
        rows.append(say("group", lang, n=n, count=found["sizes"][n], settings=settings))
    return rows


def _pair(row: Json, lang: str) -> list[str]:
    name = line(row["baseline"]) + (f" ~ {line(row['candidate'])}" if row["baseline"] != row["candidate"] else "")
    one, other = row["shapes"] if row["differs"] == "shape" else row["dtypes"]
    what = say(f"differs.{row['differs']}", lang, one=one, other=other)
    if row["differs"] == "values" and one != other:
        what += f" {one} / {other}"
    if row["not_finite"]:
        what += " " + say("not-finite", lang, n=row["not_finite"])
    numbers = [row[key] for key in ("max", "mean", "relative", "cosine")]
    return [name, what, *("" if n is None else f"{n:.3g}" if key < 3 else f"{n:.6f}" for key, n in enumerate(numbers))]


def _table(rows: list[list[str]], sides: str) -> list[str]:
    widths = [max((columns(row[n]) for row in rows), default=0) for n in range(len(sides))]
    widths[0] = min(widths[0], 100)

    def pick(text: str, width: int, side: str) -> str:
        return text if columns(text) > width else pad(text, width, side == "r")

    return ["  ".join(map(pick, row, widths, sides)).rstrip() for row in rows]


def _lines(texts: Iterable[str]) -> list[Line]:
    return [[("  " + text, "")] for text in texts]


def _titled(key: str, texts: list[str], lang: str) -> list[Line]:
    return [[], [(say(key, lang), "bold")], *_lines(texts)] if texts else []


def _notes(notes: list[Json], before: str = "") -> list[Line]:
    styles = {"runs": "bold red", "device": "yellow", "refused": "yellow"}
    return [[], *[[(before + line(note["text"]), styles.get(note["key"], "dim"))] for note in notes]] if notes else []
