"""The torch version a repository asks for, read from its requirement files as text; nothing of it is run."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from porter.files.read import beginning

LIMIT = 1_000_000
NAMES = re.compile(r"(requirements.*\.(txt|in)|pyproject\.toml|setup\.cfg|setup\.py|(environment|conda).*\.ya?ml)$")
ORDER = ("requirements", "pyproject", "setup.cfg", "setup.py", "environment", "conda")
REQUIREMENT = re.compile(
    r"""(?<![\w.\-/#])(?:py)?torch(?:\[[\w,\s]*\])?["']?\s*[=:]?\s*["'({]*\s*"""
    r"(?P<specifiers>(?:===|==|~=|\^|>=|<=|!=|=|>|<)\s*\d[\w.*+]*(?:\s*,\s*(?:==|~=|>=|<=|!=|>|<)\s*\d[\w.*+]*)*)"
)
EXACT = ("===", "==", "~=", "^", "=")
SPECIFIER = re.compile(r"(===|==|~=|\^|>=|<=|!=|=|>|<)\s*(\d[\w.*+]*)")


@dataclass(frozen=True, slots=True)
class Pin:
    place: str  # file:line
    specifiers: tuple[tuple[str, tuple[int, ...]], ...]  # (operator, version)

    @property
    def exact(self) -> tuple[int, ...] | None:
        return next((v for operator, v in self.specifiers if operator in EXACT and len(v) > 1), None)  # 2.* is none

    def allows(self, version: tuple[int, ...]) -> bool:
        return all(_holds(version, operator, limit) for operator, limit in self.specifiers)


def pins(root: Path) -> list[Pin]:
    """Every requirement on torch below `root` and its requirements/ folder, the ones that decide first."""
    found = []
    for path in _files(root):
        text = (beginning(root / path, LIMIT) or b"").decode("utf-8", "replace")
        for number, line in enumerate(text.splitlines(), 1):
            bare = " ".join(line.split("#", 1)[0].split())  # how many blanks there are, is all the same
            for match in REQUIREMENT.finditer(bare):
                specifiers = tuple((op, _version(v)) for op, v in SPECIFIER.findall(match["specifiers"]))
                found.append(Pin(f"{path}:{number}", specifiers))
    return sorted(found, key=lambda pin: pin.exact is None)  # stable: the order of the files otherwise


def choose(root: Path, default: str) -> tuple[str, str]:
    """The torch_npu version to port for, and where it comes from: `file:line`, or "default"."""
    from porter.catalog.read.load import nearest, versions

    for pin in pins(root):
        if pin.exact is not None:
            return nearest(".".join(map(str, pin.exact))), pin.place
        if not pin.allows(_version(default)):
            allowed = [v for v in versions() if pin.allows(_version(v))]
            if allowed:
                return (allowed[0] if _version(default) < _version(allowed[0]) else allowed[-1]), pin.place
    return default, "default"


def _files(root: Path) -> Iterator[str]:
    names = []
    for folder in ("", "requirements"):
        try:
            entries = sorted(os.listdir(root / folder))
        except OSError:
            continue
        for name in entries:
            known = NAMES.match(name) or folder and name.endswith((".txt", ".in"))
            if known and (root / folder / name).is_file():
                names.append(f"{folder}/{name}" if folder else name)
    yield from sorted(names, key=lambda n: (next((i for i, p in enumerate(ORDER) if n.startswith(p)), 9), len(n), n))


def _version(text: str) -> tuple[int, ...]:
    """2.7.1.post11 and 2.7.1+cu118 are 2.7.1."""
    match = re.match(r"\d{1,9}(\.\d{1,9})*", text)
    return tuple(int(n) for n in match[0].split(".")[:3]) if match else ()


def _holds(version: tuple[int, ...], operator: str, limit: tuple[int, ...]) -> bool:
    width = max(len(version), len(limit))
    left, right = (v + (0,) * (width - len(v)) for v in (version, limit))
    if operator in ("==", "===", "="):
        return version[: len(limit)] == limit
    if operator in ("~=", "^"):
        return left >= right and version[: len(limit) - 1] == limit[:-1]
    if operator == "!=":
        return version[: len(limit)] != limit
    return {">=": left >= right, "<=": left <= right, ">": left > right, "<": left < right}[operator]
