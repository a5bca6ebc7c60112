"""Amounts of work in words, the same in every format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from porter.report.effort import days
from porter.rulebook.effort import HOURS
from porter.rulebook.words import speaker

say = speaker("report")
PARTS = ("kernel", "package", "other", "unread")  # what is counted; edits and checks are there or not


def in_days(minutes: Sequence[int], lang: str) -> str:
    return _range(*days((minutes[0], minutes[1])), "days", lang)


def amount(minutes: Sequence[int], lang: str) -> str:
    """Of one item, in the unit that keeps its numbers small."""
    least, most = minutes
    if most < 120:
        return _range(least, most, "minutes", lang)
    if most <= 60 * HOURS * 2:
        return _range(30 * (least // 30) / 60, 30 * -(-most // 30) / 60, "hours", lang)
    return in_days(minutes, lang)


def sentence(cost: Sequence[int], aside: Sequence[int], whats: Iterable[str], lang: str) -> str:
    """`3 to 6 person-days: 2 kernels, ...`; `whats`: of the items that training code has."""
    parts = _parts(Counter(whats), lang)
    text = in_days(cost, lang) if cost[1] else say("effort.nothing", lang)
    text += say("effort.parts", lang, parts=say("screen.and", lang).join(parts)) if parts else ""
    return text + (say("effort.aside", lang, days=in_days(aside, lang)) if aside[1] else "")


def _parts(counts: Mapping[str, int], lang: str) -> list[str]:
    counted = [
        say(f"effort.{what}.one" if counts[what] == 1 else f"effort.{what}", lang, n=f"{counts[what]:,}")
        for what in PARTS
        if counts[what]
    ]
    return counted + [say(f"effort.{what}", lang) for what in ("edits", "checks") if counts[what]]


def _range(least: float, most: float, unit: str, lang: str) -> str:
    if least == most:
        return say(f"span.{unit}.one" if most == 1 else f"span.{unit}.same", lang, n=f"{most:g}")
    return say(f"span.{unit}.most" if not least else f"span.{unit}", lang, least=f"{least:g}", most=f"{most:g}")
