"""What rules/diagnose.toml may say: causes of what a log shows, for `porter diagnose`."""

from __future__ import annotations

from collections.abc import Callable

from porter.regex import lazy
from porter.rulebook.errors import Check, Kinds

GRADES = ("V", "E")  # sources or documents say so | people met it so, in public threads
KINDS = ("cause", "effect", "hint")  # what went wrong | what follows from something else | what slows or degrades
_NAME = lazy(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
SERIES = (  # the causes that diagnose/symptoms.py yields; a cause with one of them has it as its name
    "nan-loss",
    "loss-scale",
    "flat-loss",
    "loss-spike",
    "oscillating-loss",
    "slow-first-step",
    "data-gap",
    "slow-rank",
    "stuck-metric",
)


def cause(code: Check, text: Check, languages: Check, list_of: Callable[[Check], Check]) -> Kinds:
    """One cause: the lines or the series that show it, why, and what to do."""
    from porter.rulebook.log_patterns import wrong

    true = lambda value: None if value is True else "is not true"  # noqa: E731
    keys = {
        "name": lambda value: None if isinstance(value, str) and _NAME.fullmatch(value) else "is not a lower-case name",
        "kind": lambda value: None if value in KINDS else f"is not one of {', '.join(KINDS)}",
        "lines": list_of(wrong),
        "series": lambda value: None if value in SERIES else f"is not one of {', '.join(SERIES)}",
        "numbers": list_of(
            lambda value: None if isinstance(value, int) and 99999 < value < 10**6 else "is not of six digits"
        ),
        "npu": true,
        "general": true,
        "waits": true,
        "packages": true,
        "codes": list_of(code),
        "title": languages,
        "why": languages,
        "cure": languages,
        "example": list_of(text),
        "evidence": text,
        "grade": lambda value: None if value in GRADES else f"is not one of {', '.join(GRADES)}",
        "reference": text,
    }
    return {"cause": (("name", "kind", "title", "why", "cure", "evidence", "grade"), keys)}
