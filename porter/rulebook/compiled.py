"""rules/*.toml compiled into the user's cache: tomli and the schema run once per change, a start reads a marshal. The files of
porter/report/compiled_pages.py are of the same kind.

The cache is a convenience: where it is missing, damaged, of another version or not writable, the rules are read anew.
"""

from __future__ import annotations

import marshal
import os
import stat
import sys
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias
from zlib import crc32

from porter import __version__
from porter.resources import cache_dir, is_ours, make_ours

_MAGIC = b"porter rules 1\n"
# who compiles a folder, and the files whose change changes what is compiled
_BUILDERS = {
    "porter.rulebook.tabulate": (
        "contradictions.py",
        "effort.py",
        "log_patterns.py",
        "opening.py",
        "schema.py",
        "schema_diagnose.py",
        "schema_report.py",
        "tabulate.py",
        "toml_stanzas.py",
    ),
    "porter.rulebook.schema_words": ("schema.py", "schema_words.py"),
    "porter.advice.schema": ("../advice/schema.py", "toml_stanzas.py"),
    "porter.checklist.schema": ("../checklist/schema.py", "schema.py", "toml_stanzas.py"),
    "porter.checkpoint.schema": ("../checkpoint/schema.py", "toml_stanzas.py"),
    "porter.dumps.schema": ("../dumps/schema.py", "toml_stanzas.py"),
}
Section: TypeAlias = "dict[str, Any]"  # of what a folder says
_LARGEST = 64_000_000
_built: dict[str, dict[str, Section]] = {}


def section(directory: Path, name: str, builder: str = "porter.rulebook.tabulate") -> Section:
    files = _files(directory)
    key = _key(files, builder)
    if key in _built:
        return _built[key][name]
    place = cache_dir() / f"rules-{key}.bin"
    data: Section | None = read_part(place, key, name)
    if data is None:
        _built[key] = import_module(builder).build(files)
        write_parts(place, key, _built[key])
        data = _built[key][name]
    return data


def _files(directory: Path) -> list[tuple[str, bytes]]:
    from porter.rulebook.errors import RuleError

    try:
        with os.scandir(directory) as entries:
            names = sorted(e.name for e in entries if e.name.endswith(".toml"))
        files = []
        for name in names:
            with open(os.path.join(directory, name), "rb", 0) as file:
                files.append((f"{os.path.basename(directory)}/{name}", file.read()))
    except OSError as error:
        raise RuleError(f"{directory}: {error.strerror}") from None
    return files


def _key(files: list[tuple[str, bytes]], builder: str) -> str:
    """Of versions, names and bytes. The bytes cost 0.1 ms and are what matters: times lie in wheels and checkouts; of the
    code that compiles them a wrong time costs one compilation more."""
    sums: list[tuple[str, int, int]] = [(name, len(data), crc32(data)) for name, data in files]
    for name in _BUILDERS[builder]:
        stat = os.stat(os.path.join(os.path.dirname(__file__), name))
        sums.append((name, stat.st_size, stat.st_mtime_ns))
    versions = (__version__, sys.implementation.cache_tag, sys.hexversion, marshal.version)
    raw = repr((versions, sums)).encode()
    return f"{crc32(raw):08x}{crc32(raw[::-1]):08x}"


def read_part(place: Path, key: str, name: str) -> Any:
    """One part of a compiled file, None where anything at all is odd about it."""
    try:
        status = os.lstat(place)
        if (
            not stat.S_ISREG(status.st_mode)
            or status.st_size > _LARGEST
            or not (is_ours(place.parent) and is_ours(place))
        ):
            return None
        with open(place, "rb", 0) as file:
            data = file.read(_LARGEST)
        head, _, body = data[len(_MAGIC) :].partition(b"\n")
        if not data.startswith(_MAGIC) or not head.startswith(key.encode() + b" "):
            return None
        start = 0
        for entry in head.decode("ascii").split(" ")[1:]:
            title, size, checksum = entry.split(":")
            part = memoryview(body)[start : start + int(size)]
            if title == name:
                content = marshal.loads(part) if crc32(part) == int(checksum) else None
                return content
            start += int(size)
    except (OSError, ValueError, EOFError, TypeError):
        pass
    return None


def write_parts(place: Path, key: str, data: dict[str, Any], most: int = 8) -> None:
    """`most`: files of this kind that stay in the cache, the newest."""
    parts = [(name, marshal.dumps(part)) for name, part in data.items()]
    head = " ".join([key, *(f"{name}:{len(part)}:{crc32(part)}" for name, part in parts)])
    temporary = place.with_name(f"{place.name}.{os.getpid()}.tmp")
    try:
        if not make_ours(place.parent):
            return
        try:
            temporary.unlink(missing_ok=True)
            with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(_MAGIC + head.encode("ascii") + b"\n" + b"".join(part for _, part in parts))
            os.replace(temporary, place)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        _clear(place, most)
    except OSError:
        pass


def _clear(place: Path, most: int) -> None:
    kind = place.name.partition("-")[0]
    others = sorted(place.parent.glob(f"{kind}-*.bin"), key=lambda p: (p != place, -p.stat().st_mtime_ns))
    for old in others[most:]:
        old.unlink(missing_ok=True)
