"""Files that compute with another framework than torch, in a project that has others for torch, and scripts that start such alone."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from posixpath import join, normpath

from porter.files.paths import folder_of
from porter.project.imports import Import
from porter.regex import lazy
from porter.rulebook.table import hints

FRAMEWORKS = hints("another-framework")
_WORDS = tuple(f"{word} {name}".encode() for name in sorted(FRAMEWORKS) for word in ("import", "from"))
# a file that a script starts, behind the folder that a variable may hold
_STARTED = lazy(rb"(?m)^(?![ \t]*#)[^#\n]*?\bpython[\d.]*[ \t]+(?:-[a-zA-Z]+[ \t]+)*(?:\"?\$\{?\w+\}?/)?([\w./-]+)")
_NAMED = b"|".join(name.encode() for name in sorted(FRAMEWORKS))
_OTHERS = lazy(rb"(?m)^[ \t]*(?:import|from)[ \t]+(%s)\b" % _NAMED)
_AS_TORCH = lazy(rb"(?m)^import[ \t]+(?:%s)[ \t]+as[ \t]+torch\b" % _NAMED)


def of_others(files: Iterable[str], read: Callable[[str], bytes | None]) -> Callable[[str, bytes], str]:
    """A function that names the other framework that all programs import which a script starts, all files of the project and none
    of torch; "" for another script."""
    known = frozenset(files)
    called: dict[str, list[str]] = {}

    def others(script: str, data: bytes) -> str:
        names = {name.decode() for name in _STARTED.findall(data)}
        if names and not called:
            for path in known:
                called.setdefault(path.rpartition("/")[2], []).append(path)
        paths = {_place(script, name, known) or _near(script, called.get(name, ())) for name in names}
        found = [path and _other_framework(read(path)) for path in sorted(paths)]
        return ", ".join(sorted({*found})) if all(found) else ""

    return others


def _place(script: str, name: str, known: frozenset[str]) -> str:
    """The file of the project that a script starts from its own folder or from one above it; "" where there is none."""
    folder = script
    while folder:
        folder = folder.rpartition("/")[0]
        if (path := normpath(join(folder, name))) in known:
            return path
    return ""


def _near(script: str, paths: Collection[str]) -> str:
    """The one file of a name in the project, which stands below the script's folder or one beside it: it was copied from there."""
    path, folder = next(iter(paths), ""), folder_of(script)
    around = [folder, *[folder_of(folder[:-1])] * ("/" in folder[:-1])]
    return path if len(paths) == 1 and path.startswith(tuple(around)) else ""


def _other_framework(text: bytes | None) -> str:
    imported = _OTHERS.search(text) if text is not None and (b"torch" not in text or calls_it_torch(text)) else None
    return imported[1].decode() if imported else ""


def computes_otherwise(text: bytes) -> bool:
    """Whether a file may import another framework, and never says torch but as its name."""
    return any(word in text for word in _WORDS) and (b"torch" not in text or calls_it_torch(text))


def calls_it_torch(text: bytes) -> bool:
    """`import oneflow as torch`"""
    return b" as torch" in text and _AS_TORCH.search(text) is not None


def always_imports_another(statements: Iterable[Import]) -> bool:
    return any(s.outermost and s.module.partition(".")[0] in FRAMEWORKS for s in statements)
