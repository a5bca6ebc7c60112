"""The stanzas of one file of rules, as every schema reads them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
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
