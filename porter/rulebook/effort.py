"""What a piece of a port costs: the names of the assumptions, and how an amount of work is written."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from porter.regex import lazy

Range: TypeAlias = "tuple[int, int]"  # minutes, the least and the most
EDITS = ("automatic", "review")
BY_HAND = ("minutes", "hours", "rewrite")  # porter.finding.EFFORTS
NAMED = ("kernel-replaced", "kernel-written", "package-replaced", "package-written", "build")
CHECKED = ("baseline", "run", "precision")  # whether the port is right
NAMES = (*EDITS, *BY_HAND, *NAMED, "unread", *CHECKED)
HOURS = 8  # of a day
MINUTES = {"minutes": 1, "hours": 60, "days": 60 * HOURS}
_AMOUNT = lazy(r"(\d{1,4}(?:\.\d{1,2})?)(?: to (\d{1,4}(?:\.\d{1,2})?))? (minutes|hours|days)")


class Rate(NamedTuple):
    """What a project says of an assumption; None where it leaves one as it is."""

    name: str
    first: Range | None
    further: Range | None


def amount(text: object) -> Range | None:
    """`2 to 8 hours` or `30 minutes` in minutes; None of anything else, and where the least is above the most."""
    found = _AMOUNT.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        return None
    least, most = (round(float(number) * MINUTES[found[3]]) for number in (found[1], found[2] or found[1]))
    return (least, most) if least <= most else None


def wrong_amount(value: object) -> str | None:
    return None if amount(value) else "is no amount of work, as in '2 to 8 hours': minutes, hours or days"
