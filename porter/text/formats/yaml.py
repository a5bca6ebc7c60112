"""YAML: the values, by the events of PyYAML's parser. Tags, anchors and several documents are taken as they are."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from porter.errors import Unreadable
from porter.rulebook.table import hint
from porter.text.document import Document
from porter.text.settings.entries import ITEM, Builder, Settings, same

MARK, READS = "#", "settings"
__all__ = ["MARK", "READS", "read", "same"]
# without one of these, a file says nothing of a device, nor of what runs on one
_CONCERNS = hint("setting-of-a-device")
_DEEPEST = 500  # levels; libyaml goes over all that are open for every word


def read(document: Document) -> Settings:
    return values(document.text)


def values(text: str) -> Settings:
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    builder = Builder(text)
    try:
        _Values(builder).take(yaml.parse(text, Loader=loader))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or str(error).partition("\n")[0]
        key = "malformed"
        if not _CONCERNS.search(text):
            key = "unconcerned"
        elif "{{" in text or "{%" in text:
            key, problem = "text", f"{problem} (a template)"
        raise Unreadable(key, f"YAML: {problem}", mark.line + 1 if mark else 1) from None
    return builder.settings


class _Frame:
    __slots__ = ("key", "mapping", "number", "span")

    def __init__(self, mapping: bool, number: int):
        self.mapping, self.number = mapping, number
        self.key: str | None = None if mapping else ITEM
        self.span: tuple[int, int] | None = None


class _Values:
    def __init__(self, builder: Builder):
        self.builder, self.text = builder, builder.text
        self.frames: list[_Frame] = []
        self.owners = 0

    def take(self, events: Iterable[Any]) -> None:
        import yaml

        scalar, start_map, start_list = yaml.ScalarEvent, yaml.MappingStartEvent, yaml.SequenceStartEvent
        ends, frames = (yaml.MappingEndEvent, yaml.SequenceEndEvent), self.frames
        for event in events:
            kind = event.__class__
            if kind is scalar:
                self._scalar(event)
            elif kind is start_map or kind is start_list:
                if event.tag and not event.tag.startswith("tag:yaml.org"):
                    offset = event.start_mark.index
                    self.builder.add(self._path(), "", offset, offset, owner=self._owner(), tag=event.tag)
                if len(frames) > _DEEPEST:
                    raise RecursionError
                self.owners += 1
                frames.append(_Frame(kind is start_map, self.owners))
            elif kind in ends:
                frames.pop()
                self._done(None)
            elif kind is yaml.AliasEvent:
                self._done(None)

    def _path(self) -> list[str]:
        return [frame.key if frame.key is not None else "?" for frame in self.frames]

    def _owner(self) -> int:
        return self.frames[-1].number if self.frames else 0

    def _done(self, key: str | None, span: tuple[int, int] | None = None) -> None:
        """A value is over, so that a key comes next; or what was read is that key."""
        if self.frames and self.frames[-1].mapping:
            frame = self.frames[-1]
            frame.key, frame.span = (key if key is not None else "?", span) if frame.key is None else (None, None)

    def _scalar(self, event: Any) -> None:
        quoted, end = event.style in ("'", '"'), event.end_mark.index
        end -= quoted
        start = end - len(event.value)
        if event.style in ("|", ">") or start < event.start_mark.index:  # its text is not the value
            start = event.start_mark.index
        top = self.frames[-1] if self.frames else None
        if top is not None and top.mapping and top.key is None:
            span = (start, end) if self.text[start:end] == event.value else None
            self._done(event.value, span)
            return
        self.builder.add(
            self._path(), event.value, start, end,
            key=top.span if top is not None else None, owner=self._owner(), quoted=bool(event.style), tag=event.tag or "",
        )  # fmt: skip
        self._done(None)
