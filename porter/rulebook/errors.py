"""What is wrong with the rules themselves, for who wrote them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from porter.errors import UserError

Check: TypeAlias = "Callable[[Any], str | None]"  # what is wrong with a value, None where nothing is
Kinds: TypeAlias = "dict[str, tuple[tuple[str, ...], dict[str, Check]]]"  # of stanzas: required keys, all keys


class RuleError(UserError):
    """A file under rules/ says something the schema does not know. Names the file and the stanza, for who wrote it."""

    def __init__(self, text: str):
        super().__init__(text, text)
