"""What is wrong with the rules themselves, for who wrote them."""

from __future__ import annotations

from porter.errors import UserError


class RuleError(UserError):
    """A file under rules/ says something the schema does not know. Names the file and the stanza, for who wrote it."""

    def __init__(self, text: str):
        super().__init__(text, text)
