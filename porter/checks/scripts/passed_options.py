"""Finds options of command lines, such as `--tf32 True`, that an [[option]] stanza of rules/*.toml describes.

Only stanzas with `beside` count, and only in scripts that hand over one of those options, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from porter.checks.native.options import of_setting
from porter.engine.rule import Hit, TextRule, named
from porter.regex import lazy
from porter.rulebook.table import Option, Tables
from porter.text.document import Document
from porter.text.shells.script import Script

_GAP = r"(?:[ \t]|\\\n)+"
_BARE = rf"(?={_GAP}-|[ \t]*(?:[;&|)\"'\n]|$))"  # behind an option without a value, which means True
_TRUE = "(?i:true|yes|on|1)"


class PassedOptions(TextRule):
    code = "PRT831"
    reads = "script"

    def __init__(self, tables: Tables) -> None:
        self.rows = [
            (row, _of((keyword,), _value(row.values)), _letters(row.beside), _of(row.beside, r"(?![\w-])"))
            for keyword, rows in tables.options.items()
            for row in rows
            if row.beside
        ]
        self.codes = tuple(sorted({self.code, *(row.code for row, *_ in self.rows)}))

    def look(self, document: Document, script: Script) -> Iterator[Hit]:
        for row, option, letters, beside in self.rows:
            if any(word in script.text for word in letters) and beside.search(script.text):
                for match in option.finditer(script.text):
                    if not any(start <= match.start() < end for start, end in script.comments):
                        yield from _hits(row, match, document)


def _letters(keywords: tuple[str, ...]) -> tuple[str, ...]:
    """The longest part of each keyword between underscores. It stands in the text whether the option is written with - or _.
    To look for it first takes a tenth of the time."""
    return tuple({max(keyword.split("_"), key=len) for keyword in keywords})


def _of(keywords: tuple[str, ...], behind: str) -> re.Pattern[str]:
    names = "|".join(re.escape(keyword).replace("_", "[-_]") for keyword in keywords)
    return lazy(rf"(--(?<![\w-]--)(?:{names})){behind}")


def _value(values: tuple[str, ...]) -> str:
    """The pattern of what follows the name of an option. Without a value, the group `value` matches nothing."""
    written = "|".join(_TRUE if value == "True" else re.escape(value.strip("'")) for value in values)
    given = rf"(?:=|{_GAP})([\"']?)(?P<value>{written})\2(?![\w./-])"
    return rf"(?:{given}|{_BARE})" if "True" in values else given


def _hits(row: Option, match: re.Match[str], document: Document) -> Iterator[Hit]:
    session, value = document.session, match["value"]
    name = match[1].lstrip("-").replace("-", "_")
    asked, more = of_setting(row, name, session.facts.own, session.facts.lists, document.path)
    if asked is None:
        return
    # with another style the script must still run on GPUs
    new, writes = (asked.to or "").strip("'"), session.target.style == "rename"
    edits = ((*match.span("value"), new),) if value and new and writes else ()
    values = named(name=match[1], old=value or "True", new=new, **more)
    weight: dict[str, Any] = {"severity": asked.severity or None, "effort": asked.effort or None}
    yield Hit(match.span(1), asked.why, code=asked.code, values=values, edits=edits, **weight)
