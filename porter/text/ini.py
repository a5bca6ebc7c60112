"""INI and cfg: sections, keys and values; a value of several lines is a list of them."""

from __future__ import annotations

import re

from porter.own import Unreadable
from porter.text.document import Document
from porter.text.setting_rules import look
from porter.text.settings import ITEM, Builder, Settings, same

MARK = "#"
__all__ = ["MARK", "look", "read", "same"]

_SECTION = re.compile(r"\[([^\]\r\n]+)\]")
_KEY = re.compile(r"([^\s=:#;\[][^=:\r\n]*?)[ \t]*[=:][ \t]*")
_VALUE = re.compile(r"[^\r\n]*?(?=[ \t]*(?:[ \t][#;][^\r\n]*)?(?:\r|$))", re.MULTILINE)


def read(document: Document) -> Settings:
    if not _is_ini(document):
        return Settings(whole=False)
    text, builder = document.text, Builder(document)
    path: list[str] = []
    key: tuple[int, int] | None = None
    owner = 0
    for at, end in zip(document.starts, [*document.starts[1:], len(text)]):
        line = text[at:end]
        bare = line.strip()
        if not bare or bare[0] in "#;":
            continue
        if line[0] in " \t" and key is not None:
            found = _VALUE.match(text, at + len(line) - len(line.lstrip()))
            builder.add([*path, ITEM], found[0], *found.span(), key=key, owner=owner)
        elif found := _SECTION.match(bare):
            path, key, owner = [found[1]], None, owner + 1
        elif found := _KEY.match(text, at + len(line) - len(line.lstrip())):
            path, key = [*path[:1], found[1]], found.span(1)
            value = _VALUE.match(text, found.end())
            start, stop = value.span()
            quoted = stop - start > 1 and text[start] in "\"'" and text[start] == text[stop - 1]
            start, stop = start + quoted, stop - quoted
            if start < stop:
                builder.add(path, text[start:stop], start, stop, key=key, owner=owner, quoted=quoted)
    return builder.settings


def _is_ini(document: Document) -> bool:
    """False where it is some other format of that suffix. Raises Unreadable where it is broken."""
    from configparser import Error, MissingSectionHeaderError, RawConfigParser

    try:
        RawConfigParser(strict=False, allow_no_value=True).read_string(document.text)
    except MissingSectionHeaderError:
        return False
    except Error as error:
        line = getattr(error, "lineno", None) or next((at for at, _ in getattr(error, "errors", ())), 1)
        raise Unreadable("text", f"INI: {type(error).__name__}", line) from None
    except AttributeError:  # how it answers, before Python 3.13, to a key without a value that goes on in the next line
        raise Unreadable("text", "INI: a line that continues no value") from None
    return True
