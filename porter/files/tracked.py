"""Which files git tracks: the names in a repository's index, read without running git.

What git tracks it never ignores, whatever `.gitignore` says. An index that is not one tracks nothing. Formats 2 to 4,
also one that is split in two, with object names of either length:
https://git-scm.com/docs/index-format
"""

from __future__ import annotations

import os
import struct
from bisect import bisect_left
from collections.abc import Iterator

from porter.files.ignore import git_directory
from porter.files.read import beginning

LIMIT = 200_000_000  # bytes of one index; a million files need a half
_KINDS = frozenset(
    {0o040000, 0o100000, 0o120000, 0o160000}
)  # a folder left out of a sparse checkout, file, link, submodule
_STAT = 40  # bytes before the object's name
_EXTENDED = 0x4000


class Index:
    """Of the repository at `folder`, read when it is first asked. Names are as `ignore.as_bytes` has them."""

    def __init__(self, folder: str):
        self.folder = folder
        self._names: list[str] | None = None

    def holds(self, path: str, directory: bool) -> bool:
        """Whether git tracks a file, or anything in a folder."""
        if self._names is None:
            self._names = read_names(self.folder)
        names = self._names
        index = bisect_left(names, path)
        if index < len(names) and names[index] == path:  # a file, or a submodule
            return True
        if not directory:
            return False
        index = bisect_left(names, f"{path}/")
        return index < len(names) and names[index].startswith(f"{path}/")


def read_names(folder: str) -> list[str]:
    """The names in the index of the repository at `folder`, sorted; none where it cannot be read."""
    git = git_directory(folder, common=False)
    if git is None:
        return []
    data = _bytes(os.path.join(git, "index"))
    for size in (20, 32):
        try:
            names, extensions_start = _entries(data, size)
            if shared := _shared(data[extensions_start:], size):
                name, bitmap = shared
                more, _ = _entries(_bytes(os.path.join(git, f"sharedindex.{name}")), size)
                gone = set(_bits(bitmap, len(more)))
                names += [other for n, other in enumerate(more) if n not in gone]
        except (ValueError, IndexError, struct.error):
            continue
        return sorted({name.decode("latin-1") for name in names if name})
    return []


def _bytes(name: str) -> bytes:
    """A regular file; nothing of what is no such file, or too large."""
    data = beginning(name, LIMIT + 1) or b""
    return data if len(data) <= LIMIT else b""


def _entries(data: bytes, size: int) -> tuple[list[bytes], int]:
    """The names, and where the extensions begin. Raises ValueError, IndexError or struct.error for what is no index."""
    magic, version, count = struct.unpack_from(">4sII", data)
    if magic != b"DIRC" or version not in (2, 3, 4):
        raise ValueError
    names, offset, name, unpack = [], 12, b"", struct.unpack_from
    for _ in range(count):
        mode, flags = unpack(">I", data, offset + 24)[0], unpack(">H", data, offset + _STAT + size)[0]
        if mode & 0o170000 not in _KINDS:
            raise ValueError
        start = offset + _STAT + size + (4 if flags & _EXTENDED else 2)
        if version == 4:
            cut, start = _varint(data, start)
            end = data.index(b"\0", start)
            if cut > len(name):
                raise ValueError
            name = name[: len(name) - cut] + data[start:end]
            offset = end + 1
        else:
            end = data.index(b"\0", start)
            name = data[start:end]
            offset += (end - offset + 8) & ~7
        names.append(name)
    return names, offset


def _varint(data: bytes, offset: int) -> tuple[int, int]:
    """A number as git's packs have it, and the place behind it."""
    byte = data[offset]
    value = byte & 127
    while byte & 128:
        offset += 1
        byte = data[offset]
        value = ((value + 1) << 7) | (byte & 127)
        if value > LIMIT:
            raise ValueError
    return value, offset + 1


def _shared(extensions: bytes, size: int) -> tuple[str, bytes] | None:
    """Of a split index, the name of its other half, and a bitmap of the entries of that which are no more."""
    offset = 0
    while offset + 8 <= len(extensions) - size:  # the checksum is last
        kind, length = struct.unpack_from(">4sI", extensions, offset)
        if kind == b"link":
            body = extensions[offset + 8 : offset + 8 + length]
            return (body[:size].hex(), body[size:]) if any(body[:size]) else None
        offset += 8 + length
    return None


def _bits(data: bytes, most: int) -> Iterator[int]:
    """The bits below `most` that are set in a bitmap of runs and words (EWAH). It may say that there are billions."""
    if not data:
        return
    size, count = struct.unpack_from(">II", data)
    words, size = iter(struct.unpack_from(f">{count}Q", data, 8)), min(size, most)
    bit = 0
    for head in words:
        run, literal = head >> 1 & 0xFFFFFFFF, head >> 33
        if head & 1:
            yield from range(bit, min(bit + 64 * run, size))
        bit += 64 * run
        while literal and bit < size:
            word, literal = next(words, 0), literal - 1
            yield from (bit + n for n in range(64) if word >> n & 1)
            bit += 64
        if bit >= size:
            return
