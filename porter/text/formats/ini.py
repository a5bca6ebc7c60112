"""INI and cfg: sections, keys and values; a value of several lines is a list of them."""

from __future__ import annotations

from porter.errors import Unreadable
from porter.regex import lazy
from porter.text.document import Document
from porter.text.settings.entries import ITEM, Builder, Settings, same

MARK, READS = "#", "settings"
__all__ = ["MARK", "READS", "read", "same"]

_SECTION = lazy(r"\[([^\]\r\n]+)\]")
_KEY = lazy(r"([^\s=:#;\[][^=:\r\n]*)[=:][ \t]*")
_LINE = lazy(r"[^\r\n]*")
_REMARK = lazy(r"[ \t][#;]")
_BLANKS = lazy(r"(?<=\S)[^\S\n]{2,}")


def read(document: Document) -> Settings:
    if not _is_ini(document):
        return Settings(whole=False)
    text, builder = document.text, Builder(document.text)
    path: list[str] = []
    key: tuple[int, int] | None = None
    owner = 0
    for line_start, end in zip(document.starts, [*document.starts[1:], len(text)]):
        line = text[line_start:end]
        bare = line.strip()
        if not bare or bare[0] in "#;":
            continue
        if line[0] in " \t" and key is not None:
            start, stop = _value(text, line_start + len(line) - len(line.lstrip()))
            builder.add([*path, ITEM], text[start:stop], start, stop, key=key, owner=owner)
        elif match := _SECTION.match(bare):
            path, key, owner = [match[1]], None, owner + 1
        elif match := _KEY.match(text, line_start + len(line) - len(line.lstrip())):
            name = match[1].rstrip(" \t")
            path, key = [*path[:1], name], (match.start(1), match.start(1) + len(name))
            start, stop = _value(text, match.end())
            quoted = stop - start > 1 and text[start] in "\"'" and text[start] == text[stop - 1]
            start, stop = start + quoted, stop - quoted
            if start < stop:
                builder.add(path, text[start:stop], start, stop, key=key, owner=owner, quoted=quoted)
    return builder.settings


def _value(text: str, start: int) -> tuple[int, int]:
    """Up to the end of the line, or to a remark, without the blanks before it."""
    line = _LINE.match(text, start)[0]  # type: ignore[index]  # it matches nothing at all, too
    remark = _REMARK.search(line)
    return start, start + len((line[: remark.start()] if remark else line).rstrip(" \t"))


def _is_ini(document: Document) -> bool:
    """False where it is some other format of that suffix. Raises Unreadable where it is broken."""
    from configparser import Error, MissingSectionHeaderError, RawConfigParser

    try:
        # its own patterns go over blanks again and again; how many there are is all the same to it
        RawConfigParser(strict=False, allow_no_value=True).read_string(_BLANKS.sub(" ", document.text))
    except MissingSectionHeaderError:
        return False
    except Error as error:
        line = getattr(error, "lineno", None) or next((number for number, _ in getattr(error, "errors", ())), 1)
        raise Unreadable("text", f"INI: {type(error).__name__}", line) from None
    except AttributeError:  # how it answers, before Python 3.13, to a key without a value that goes on in the next line
        raise Unreadable("text", "INI: a line that continues no value") from None
    return True
