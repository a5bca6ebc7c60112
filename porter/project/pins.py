"""Finds the torch and torch_npu that a repository asks for, and chooses the torch_npu to port for.

Its lists (requirements, pyproject.toml, setup.py, conda, cog) are read as text and never run.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from porter import versions
from porter.files.read import beginning
from porter.project import conda_freeze
from porter.regex import lazy

LIMIT = 1_000_000  # bytes of a file that are read
# names of files that are read
NAMES = lazy(
    r"(requirements.*\.(txt|in)|pyproject\.toml|setup\.cfg|setup\.py|(environment|conda).*\.ya?ml|cog\.ya?ml)$"
)
# begins of the names of lists, in the order in which the lists are read
ORDER = ("requirements", "pyproject", "setup.cfg", "setup.py", "environment", "conda")
REQUIREMENT = lazy(
    r"""(?<![\w.\-/])(?:torch[-_](?P<npu>npu)|(?:py)?torch)(?:\[[\w,\s]*\])?["']?\s*[=:]?\s*["'({]*\s*"""
    rf"(?P<spec>{versions.OPERATOR}\s*\d[\w.*+]*(?:\s*,\s*(?:==|~=|>=|<=|!=|>|<)\s*\d[\w.*+]*)*)"
)
_ASIDE = lazy(r"(?i)^(?:\.|docs?$|tests?$|third_?party$|external$|vendor)")  # folders that say nothing of the programs
_IMAGES = lazy(r"cog\.ya?ml$")  # about the image of a hosted demo, so that it decides only where there is no other list
_NPU = lazy(r"(?<![\w.\-/])torch[-_]npu\b")
# what says by commands which torch there is on GPUs, in the order in which they decide; and how it says so
_INSTALLING = (lazy(r"(?i)dockerfile|.+\.dockerfile$"), lazy(r".+\.sh$"), lazy(r"(?i)readme(?:\.\w+)?$"))
_INSTALL = lazy(r"\b(?:pip[\d.]*|conda|mamba|uv)\b.*\b(?:install|create|add)\b")
_INSTALLED = lazy(
    r"/torch-(?P<wheel>\d+\.\d[\d.]*)(?:%2B|\+|-cp)|pytorch/pytorch:(?P<image>\d+\.\d[\d.]*)-"
    r"|^ARG (?:PY)?TORCH(?:_VERSION)?=[\"']?(?P<argument>\d+\.\d[\d.]*)"
)
# without a version: the last torch of an index that is asked alone, and of the channel of conda, which ended with 2.5
_BARE = lazy(r"(?<![\w.\-/])(?<!-c )(?<!channel[ =])(?:py)?torch(?![\w.\-=~<>!\[/])")
_INDEX = lazy(r"(?:--index-url|-i)[ =]https://download\.pytorch\.org/whl/(cu\d+)\b")
_CHANNEL = lazy(r"\b(?:conda|mamba)\b.* (?:-c|--channel)[ =]pytorch(?: |$)")
_LAST = {"cu113": "1.12.1", "cu116": "1.13.1", "cu117": "2.0.1", "cu118": "2.7.1", "cu121": "2.5.1", "cu124": "2.6.0"}
_LAST_OF_CHANNEL = "2.5.1"


@dataclass(frozen=True, slots=True)
class Pin:
    """One requirement on torch or torch_npu."""

    place: str  # file:line
    spec: str
    npu: bool = False  # it is about torch_npu
    beside_npu: bool = False  # its file asks for torch_npu, too
    command: bool = False  # a script of the file installs it, such as that of a test environment

    @property
    def exact(self) -> tuple[int, ...]:
        return versions.pinned(self.spec)

    def allows(self, version: str) -> bool:
        return versions.allows(self.spec, version)


def pins(root: Path) -> list[Pin]:
    """Every requirement on torch or torch_npu in `root` and in its folder requirements/, in the order in which they decide."""
    pins, lists = [], []
    for path in _files(root):
        text = (beginning(root / path, LIMIT) or b"").decode("utf-8", "replace")
        if path.endswith((".yml", ".yaml")) and conda_freeze.on_windows(text):
            continue
        lists.append(path)
        # with single blanks, and without comments
        lines = [" ".join(line.split("#", 1)[0].split()) for line in text.splitlines()]
        beside_npu = any(map(_NPU.search, lines))
        for number, line in enumerate(lines, 1):
            is_command = _INSTALL.search(line) is not None
            for match in REQUIREMENT.finditer(line):
                npu = match["npu"] is not None
                pins.append(Pin(f"{path}:{number}", match["spec"], npu, beside_npu, is_command))
    if any(not _IMAGES.match(path) for path in lists):
        pins = [pin for pin in pins if not _IMAGES.match(pin.place.rpartition(":")[0])]
    pins = [pin for pin in pins if not pin.command] or pins
    # the sort is stable: beyond this, the order of the files decides
    return sorted(pins, key=lambda pin: (not pin.exact, not pin.npu, not pin.beside_npu))


def installed(root: Path, default: str) -> list[Pin]:
    """The first torch older than the default's that an image, a script or a page for readers installs."""
    try:
        names = sorted(os.listdir(root))
    except OSError:
        return []
    for name in (name for kind in _INSTALLING for name in names if kind.match(name) and (root / name).is_file()):
        text = (beginning(root / name, LIMIT) or b"").decode("utf-8", "replace")
        number = 1
        for command in re.split(r"(?<!\\)\n", text.replace("\r", "")):
            place, number = f"{name}:{number}", number + 1 + command.count("\n")
            line = " ".join(command.replace("\\\n", " ").split("#", 1)[0].split())
            found = [match[match.lastgroup or 0] for match in _INSTALLED.finditer(line)]
            if _INSTALL.search(line):
                found += [match["spec"] for match in REQUIREMENT.finditer(line) if match["npu"] is None]
                found += _last(line) if not found else []
            wanted = [Pin(place, spec if spec[0] in "=~<>!" else f"=={spec}") for spec in found]
            for pin in wanted:
                if pin.exact and pin.exact < versions.release(default)[: len(pin.exact)]:
                    return [pin]
    return []


def _last(command: str) -> list[str]:
    """The torch that a command installs which names no version of it, where that is not the newest there is."""
    if not _BARE.search(command):
        return []
    index = _INDEX.search(command)
    last = _LAST.get(index[1], "") if index else _LAST_OF_CHANNEL if _CHANNEL.search(command) else ""
    return [last] if last else []


def choose(root: Path, default: str, on_gpus: Sequence[Pin] = ()) -> tuple[str, str]:
    """The torch_npu version to port for, and where it comes from: `file:line`, or "default". `on_gpus`: what is installed there, for a
    port that has to run there as well; it decides where no list of the root does, before those of programs."""
    from porter.catalog.read import load

    wanted, possible = pins(root) or list(on_gpus), load.versions()
    exact = next((pin for pin in wanted if pin.exact), None)
    # there may be no catalogue for the pinned version: then the next newer that the other requirements allow is taken
    bounds = [pin for pin in wanted if not pin.exact]
    for pin in [exact, *bounds] if exact else bounds:
        possible = [v for v in possible if pin.allows(v)] or possible
    if exact is None and (newer := _of_programs(root, default, possible)):
        return newer
    if exact is not None:
        return load.nearest(".".join(map(str, exact.exact)), among=possible), exact.place
    excluding = (pin for pin in bounds if not pin.allows(default) and pin.allows(possible[0]))
    if default in possible or (decides := next(excluding, None)) is None:
        return default, "default"
    older = versions.release(default) < versions.release(possible[0])
    return possible[0 if older else -1], decides.place


def _of_programs(root: Path, default: str, possible: list[str]) -> tuple[str, str] | None:
    """The one torch that lists of programs pin, one folder below (`examples/requirements.txt`), where it is newer than the default's
    and has a torch_npu of its own: an older one may be that of a program which nobody runs any more."""
    found: dict[tuple[int, ...], str] = {}
    for path in sorted(root.glob("*/requirements*.txt")):
        if not _ASIDE.search(path.parent.name) and path.is_file():
            text = (beginning(path, LIMIT) or b"").decode("utf-8", "replace")
            for number, line in enumerate(text.splitlines(), 1):
                match = REQUIREMENT.search(" ".join(line.split("#", 1)[0].split()))
                if match and match["npu"] is None and (exact := versions.pinned(match["spec"])):
                    found.setdefault(exact, f"{path.relative_to(root).as_posix()}:{number}")
    if len(found) != 1:
        return None
    [(exact, place)] = found.items()
    own = [version for version in possible if versions.release(version)[: len(exact)] == exact]
    return (own[-1], place) if own and exact > versions.release(default)[: len(exact)] else None


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
