"""An archive, unpacked into a folder: never out of it, never more than a limit, and nothing that is no file.

porter reads no file that is larger than `LIMIT`. Of one that is, the head is written and the rest is a hole: it has the
size that a report tells, and a bomb fills no disk.
"""

from __future__ import annotations

import os
import stat
import tarfile
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from typing import IO, NamedTuple

from porter.errors import UserError
from porter.files.read import DOCUMENT, LIMIT

KEPT = LIMIT + 1_000_000  # bytes of one file; a baseline may be a larger one
MOST_FILES = 500_000
MOST_BYTES = 4_000_000_000  # that are written, of all files
_PIECE = 1 << 20


class Member(NamedTuple):
    name: str
    size: int
    link: str  # where a symbolic link leads; "" for what is none
    same: str  # the member that a hard link is another name of
    is_folder: bool
    mode: int
    stream: IO[bytes] | None


def unpack(file: str, into: str, name: str) -> str:
    """The folder of the repository: the only one that the archive has, or `into/name`. Raises UserError."""
    top = os.path.join(into, name)
    try:
        os.makedirs(top)
        with open(file, "rb") as stream:
            _write(_zip(stream) if zipfile.is_zipfile(file) else _tar(stream), top)
    except (UserError, MemoryError):
        raise
    except Exception as error:  # of a dozen kinds, and which depends on the version of Python
        named = error.strerror if isinstance(error, OSError) else None  # its text names a folder, another each time
        why = named or " ".join(str(error).split()) or type(error).__name__
        raise UserError(f"the archive cannot be read: {why}", f"无法读取归档文件：{why}") from None
    names = os.listdir(top)
    if (
        len(names) == 1
        and os.path.isdir(os.path.join(top, names[0]))
        and not os.path.islink(os.path.join(top, names[0]))
    ):
        return os.path.join(top, names[0])
    return top


def _write(members: Iterator[Member], top: str) -> None:
    links: list[tuple[str, str, str]] = []
    written = 0
    for n, member in enumerate(members):
        if n >= MOST_FILES:
            raise _too_large(f"{MOST_FILES:,} files", f"{MOST_FILES:,} 个文件")
        parts = _inside(member.name, member.name)
        if not parts:
            continue
        path = os.path.join(top, *parts)
        os.makedirs(path if member.is_folder else os.path.dirname(path), exist_ok=True)
        if member.link:
            if os.path.isabs(member.link):
                raise _climbs(member.name)
            _inside("/".join((*parts[:-1], member.link)), member.name)
            links.append((path, member.link, member.name))
        elif member.same:
            with suppress(FileExistsError):
                os.link(os.path.join(top, *_inside(member.same, member.name)), path)
        elif member.stream is not None:
            written += _copy(member, path, MOST_BYTES - written)
    for path, target, _ in links:  # last, so that no file is written through one
        with suppress(FileExistsError):
            os.symlink(target, path)
    base = os.path.realpath(top)
    # a link that stays inside by its text may go through another one, and so out
    climbing = [link for link in links if not f"{os.path.realpath(link[0])}{os.sep}".startswith(f"{base}{os.sep}")]
    for path, *_ in climbing:
        os.unlink(path)
    if climbing:
        raise _climbs(climbing[0][2])


def _copy(member: Member, path: str, room: int) -> int:
    assert member.stream is not None
    with suppress(FileNotFoundError):
        os.unlink(path)  # a later member of the same name; its other names keep what they have
    kept = min(member.size, DOCUMENT if path.endswith(".json") else KEPT)
    if kept > room:
        raise _too_large(f"{MOST_BYTES / 1e9:g} GB", f"{MOST_BYTES / 1e9:g} GB")
    with member.stream as source, open(path, "xb") as stream:
        left = kept
        while left and (piece := source.read(min(left, _PIECE))):
            stream.write(piece)
            left -= len(piece)
        if left:
            raise EOFError(f"{member.name}: cut off")
        stream.truncate(member.size)
    if member.mode & 0o100:
        os.chmod(path, 0o755)
    return kept


def _tar(stream: IO[bytes]) -> Iterator[Member]:
    with tarfile.open(fileobj=stream, mode="r|*") as archive:
        for info in archive:
            link, same = info.linkname if info.issym() else "", info.linkname if info.islnk() else ""
            content = archive.extractfile(info) if info.isreg() else None
            if content is not None or link or same or info.isdir():  # devices and pipes are left out
                yield Member(info.name, info.size, link, same, info.isdir(), info.mode, content)


def _zip(stream: IO[bytes]) -> Iterator[Member]:
    with zipfile.ZipFile(stream) as archive:
        for info in archive.infolist():
            mode = info.external_attr >> 16
            is_link = stat.S_ISLNK(mode) and info.file_size < 4096
            link = os.fsdecode(archive.read(info)) if is_link else ""
            content = None if info.is_dir() or is_link else archive.open(info)
            yield Member(info.filename, info.file_size, link, "", info.is_dir(), mode, content)


def _inside(name: str, member: str) -> list[str]:
    """The parts of a name that stays inside; raises UserError for one that does not."""
    if name.startswith(("/", "\\")) or "\0" in name or (os.name == "nt" and ":" in name):
        raise _climbs(member)
    parts: list[str] = []
    for part in name.replace("\\", "/").split("/") if os.name == "nt" else name.split("/"):
        if part == "..":
            if not parts:
                raise _climbs(member)
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return parts


def _climbs(member: str) -> UserError:
    name = ascii(member)
    return UserError(
        f"the archive is refused: {name} leads out of its folder", f"拒绝该归档文件：{name} 指向其目录之外"
    )


def _too_large(en: str, zh: str) -> UserError:
    return UserError(f"the archive is refused: it holds more than {en}", f"拒绝该归档文件：其内容超过 {zh}")
