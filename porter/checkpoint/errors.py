"""What keeps a checkpoint from being read: one line that names the file, the fault and the cure."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from porter.errors import UserError
from porter.files.errors import about_file, printable
from porter.rulebook.table import LANGUAGES
from porter.rulebook.words import speaker

_say = speaker("checkpoint")


class Damaged(Exception):
    """The bytes are not what their format asks for. `key` is a text of rules/words/checkpoint.toml."""

    def __init__(self, key: str, values: dict[str, object]):
        super().__init__(key, values)
        self.key, self.values = key, values

    @classmethod
    def of(cls, key: str, /, **values: object) -> Damaged:
        return cls(key, {name: brief(value) for name, value in values.items()})


def brief(value: object) -> str:
    """A text of what a file says. What is nested is not looked into: it may be deep, or large beyond any memory."""
    if isinstance(value, (list, tuple)) and all(isinstance(item, int) for item in value):
        return str(list(value[:16]))[:200]
    plain = isinstance(value, (str, int, float, Exception)) or value is None
    return printable(str(value)[:200]) if plain else type(value).__name__


def refused(name: str, key: str, /, **values: object) -> UserError:
    return about_file(name, *(_say(f"error.{key}", lang, **values) for lang in LANGUAGES))


def inside(folder: str, place: str, name: str) -> str:
    """A file that `name` names, which lies beside it. Raises UserError: an absolute path, or one that leads out."""
    parts = place.replace("\\", "/").split("/")
    if not place or ".." in parts or os.path.isabs(place) or "\0" in place or ":" in parts[0]:
        raise refused(name, "path", name=brief(place))
    return os.path.join(folder, *parts)


@contextmanager
def reading(name: str, imports: Mapping[str, str] | None = None) -> Iterator[None]:
    """Whatever is wrong with the bytes of `name` becomes one line about it. `imports`: what its pickles named so far; what one of
    them would have run before it ends is said with its damage."""
    import struct
    import zipfile
    import zlib

    try:
        yield
    except Damaged as error:
        raise _hostile(name, imports) or refused(name, error.key, **error.values) from None
    except (
        ValueError,
        OverflowError,
        EOFError,
        struct.error,
        zipfile.BadZipFile,
        zlib.error,
        NotImplementedError,
    ) as error:
        # the last one is zipfile's: a compression that it does not know, and which torch never writes
        raise _hostile(name, imports) or refused(name, "damaged", why=brief(error)) from None
    except (RecursionError, MemoryError):
        raise _hostile(name, imports) or refused(name, "large") from None


def _hostile(name: str, imports: Mapping[str, str] | None) -> UserError | None:
    from porter.checkpoint.rules import verdict

    runs = sorted(path for path in imports or () if verdict(path) == "runs")
    return refused(name, "hostile", names=", ".join(map(brief, runs[:5]))) if runs else None
