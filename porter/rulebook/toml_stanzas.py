"""The stanzas of one file of rules, as every schema reads them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Set
from typing import Any

from porter.rulebook.errors import RuleError


def stanzas(name: str, data: bytes, known: Iterable[str]) -> Iterator[tuple[str, int, dict[str, Any]]]:
    """The kind of each, its number among those, and what it says. Raises RuleError."""
    import tomli

    kinds = tuple(known)
    try:
        parsed = tomli.loads(data.decode("utf-8"))
    except (tomli.TOMLDecodeError, UnicodeDecodeError) as error:
        raise RuleError(f"{name}: {error}") from None
    for kind, rows in parsed.items():
        if kind not in kinds or not isinstance(rows, list):
            raise RuleError(f"{name}: unknown stanza {kind!r}; known: {', '.join(f'[[{k}]]' for k in kinds)}")
        for number, row in enumerate(rows, 1):
            yield kind, number, row


def placed(name: str, data: bytes, known: Iterable[str]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """The same, with its place in words: by its id or name, where it has one."""
    for kind, number, row in stanzas(name, data, known):
        yield kind, f"{name}: [[{kind}]] {row.get('id') or row.get('name') or number}", row


def checked(
    files: Iterable[tuple[str, bytes]], known: Mapping[str, Set[str]], optional: Set[str]
) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """The same of all files, where a stanza has the keys of its kind and no others. Raises RuleError."""
    for name, data in files:
        for kind, where, row in placed(name, data, known):
            if unknown := row.keys() - known[kind]:
                raise RuleError(f"{where}: unknown key {min(unknown)!r}")
            if missing := known[kind] - optional - row.keys():
                raise RuleError(f"{where}: {min(missing)!r} is missing")
            yield kind, where, row


def expressions(patterns: Iterable[str], where: str) -> None:
    """Raises RuleError where one is no regular expression."""
    for pattern in patterns:
        try:
            re.compile(pattern)
        except re.error as error:
            raise RuleError(f"{where}: {pattern!r}: {error}") from None
