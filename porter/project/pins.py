"""The torch version a repository asks for, read from its requirement files as text; nothing of it is run."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from porter import versions
from porter.files.read import beginning

LIMIT = 1_000_000
NAMES = re.compile(r"(requirements.*\.(txt|in)|pyproject\.toml|setup\.cfg|setup\.py|(environment|conda).*\.ya?ml)$")
ORDER = ("requirements", "pyproject", "setup.cfg", "setup.py", "environment", "conda")
REQUIREMENT = re.compile(
    r"""(?<![\w.\-/#])(?:py)?torch(?:\[[\w,\s]*\])?["']?\s*[=:]?\s*["'({]*\s*"""
    rf"(?P<spec>{versions.OPERATOR}\s*\d[\w.*+]*(?:\s*,\s*(?:==|~=|>=|<=|!=|>|<)\s*\d[\w.*+]*)*)"
)


@dataclass(frozen=True, slots=True)
class Pin:
    place: str  # file:line
    spec: str

    @property
    def exact(self) -> tuple[int, ...]:
        return versions.pinned(self.spec)

    def allows(self, version: str) -> bool:
        return versions.allows(self.spec, version)


def pins(root: Path) -> list[Pin]:
    """Every requirement on torch below `root` and its requirements/ folder, the ones that decide first."""
    pins = []
    for path in _files(root):
        text = (beginning(root / path, LIMIT) or b"").decode("utf-8", "replace")
        for number, line in enumerate(text.splitlines(), 1):
            bare = " ".join(line.split("#", 1)[0].split())  # how many blanks there are, is all the same
            for match in REQUIREMENT.finditer(bare):
                pins.append(Pin(f"{path}:{number}", match["spec"]))
    return sorted(pins, key=lambda pin: not pin.exact)  # stable: the order of the files otherwise


def choose(root: Path, default: str) -> tuple[str, str]:
    """The torch_npu version to port for, and where it comes from: `file:line`, or "default"."""
    from porter.catalog.read import load

    known = load.versions()
    for pin in pins(root):
        if pin.exact:
            return load.nearest(".".join(map(str, pin.exact))), pin.place
        if not pin.allows(default):
            allowed = [v for v in known if pin.allows(v)]
            if allowed:
                older = versions.release(default) < versions.release(allowed[0])
                return allowed[0 if older else -1], pin.place
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
