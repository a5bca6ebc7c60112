"""JSON: the values, with comments and commas at the end as settings files have them."""

from __future__ import annotations

from porter.errors import Unreadable
from porter.regex import lazy
from porter.text.document import Document
from porter.text.jsonspans import Node, parse
from porter.text.settings.entries import ITEM, Builder, Settings, same

MARK, READS = "//", "settings"
__all__ = ["MARK", "READS", "read", "same"]

_LINES = lazy(r'[\[{"\d][^\n]*[\]}"\d]\r?\n\s*[\[{"\d]')  # one value to a line: records, no settings


def read(document: Document) -> Settings:
    text = document.text
    if not text.strip():
        return Settings()
    try:
        return values(text)
    except Unreadable:
        if _LINES.match(text.lstrip()):
            return Settings(whole=False)
        raise


def values(text: str, unread: frozenset[str] = frozenset()) -> Settings:
    """`unread`: keys whose values are passed over."""
    builder = Builder(text)
    _Values(builder).walk(parse(text, unread), [], 0, None)
    return builder.settings


class _Values:
    def __init__(self, builder: Builder):
        self.builder, self.owners = builder, 0

    def walk(self, node: Node, path: list[str], owner: int, key: tuple[int, int] | None) -> None:
        if node.kind in ("object", "array"):
            self.owners += 1
            inner_owner = self.owners
            for name, value in node.members:
                path.append(str(name.value))
                self.walk(value, path, inner_owner, (name.start + 1, name.end - 1))
                path.pop()
            for item in node.items:
                path.append(ITEM)
                self.walk(item, path, inner_owner, key)
                path.pop()
            return
        quoted = node.kind == "string"
        self.builder.add(
            path, str(node.value), node.start + quoted, node.end - quoted, key=key, owner=owner, quoted=quoted
        )
