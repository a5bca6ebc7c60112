"""How numbers and names look in a cell."""

from __future__ import annotations

from porter.files.documents import Json
from porter.files.errors import printable
from porter.profiles.document import calls_text
from porter.rulebook.words import speaker

say = speaker("profiles")
_LONG = 60  # characters of a name: kernels of CUDA are templates
_COMMON = ("void ", "at::native::", "(anonymous namespace)::")


def kind(name: str, lang: str) -> str:
    return say(f"kind.{name}", lang)


def name(row: Json) -> str:
    core = f" ({row['core']})" if row["core"] else ""
    return printable(short(row["name"]) + core)


def short(name: str) -> str:
    """Without what nearly all kernels of torch have in common."""
    for part in _COMMON:
        name = name.replace(part, "")
    return name if len(name) <= _LONG else name[: _LONG - 1] + "…"


def measures(row: Json) -> tuple[str, ...]:
    return (calls_text(row["calls"]), ms(row["time"]), percent(row["share"]), ms(row["mean"]))


def shapes(row: Json) -> str:
    if row["shapes"] is None:
        return "-"
    new = row["new_shapes"]
    return f"{row['shapes']}" + (f" (+{new:.1f})" if new else "")


def ms(time: float | None) -> str:
    return "-" if time is None else f"{time / 1000:.3f}"


def number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f}"


def signed(time: float) -> str:
    return f"{time / 1000:+.3f}"


def change(before: float | None, after: float | None) -> str:
    return "-" if before is None or after is None else signed(after - before)
