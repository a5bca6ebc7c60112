"""What becomes of the value of an environment variable, wherever it is set: in Python, in a shell, in a Dockerfile."""

from __future__ import annotations

import re

from porter.regex import lazy
from porter.rulebook.table import Variable

MB = 1 << 20
_NUMBERS = lazy(r"(?:\d{1,9}(?:,\d{1,9})*)?")
_NONE = "-1"
_SETS = lazy(r"([\w.]+)\[([\"']\w+[\"'])\] = (.+)")


def is_list(row: Variable) -> bool:
    """Whether the variable that a row leads to lists devices, which CANN wants in a certain form."""
    return row.fix == "safe" and row.to is not None and row.to.endswith("VISIBLE_DEVICES")


def is_ordered(value: str) -> bool:
    """CANN reads digits and commas, and wants the numbers to rise. It reads what stands before the first number that is no
    device's: nothing of "-1", which hides all devices there as with CUDA."""
    if value == _NONE:
        return True
    if not _NUMBERS.fullmatch(value):
        return False
    numbers = [int(n) for n in value.split(",") if n]
    return numbers == sorted(set(numbers))


def is_taken(row: Variable, value: str | None) -> bool:
    """Whether the variable that a row leads to may be given a value; one that nobody knows is left to the reader."""
    return not row.takes or value is None or re.fullmatch(row.takes, value) is not None


def answer(row: Variable, value: str | None) -> str:
    """Which message is for a variable without a counterpart, by the value that it is given."""
    is_quiet = row.quiet and value is not None and re.fullmatch(row.quiet, value, re.IGNORECASE)
    return "quiet" if is_quiet else row.why


def to_megabytes(value: str | None) -> str | None:
    """A number of bytes in MB, the next whole one; None where it is not known."""
    return str(-(-int(value) // MB)) if value and value.isdecimal() and len(value) < 20 else None


def by_default(statement: str) -> str:
    """`env["NAME"] = value`, so that a value that stands there stays; another statement as it is."""
    found = _SETS.fullmatch(statement)
    return f"{found[1]}.setdefault({found[2]}, {found[3]})" if found else statement
