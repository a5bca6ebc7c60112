"""C++ and CUDA sources that nothing builds: no extension near them lists them, and nothing that one lists includes them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from porter.files.paths import bytes_of
from porter.files.read import beginning
from porter.native.builders import BUILDER
from porter.native.extensions import CUDA, Extension
from porter.regex import lazy

_INCLUDE = lazy(rb"^[ \t]*#[ \t]*(?:include|import)[ \t]*[\"<]([^\">\n]{1,200})", re.MULTILINE)
_COLLECTS = lazy(rb"\bglob\b|\blistdir\b|\bwalk\b|\brglob\b|\biterdir\b|\bscandir\b")  # sources that no list names
_BUILDS = lazy(
    r"(?i)(?:^|/)(?:CMakeLists\.txt|(?:GNU)?makefile|BUILD(?:\.bazel)?|meson\.build|xmake\.lua|[^/]+\.(?:cmake|mk|pro|vcxproj|sh|bat))$"
)
_ANY = lazy(rb"(?i)glob|wildcard|aux_source_directory|%\.(?:cu|cpp|cc|o)\b|\*\.(?:cu|cpp|cc)\b")  # all that lie there
_EXAMPLES = lazy(r"(?i)(?:^|/)(?:examples?|samples?|demos?)/")
_LARGEST = 1_000_000
KERNEL = b"__global__"


def unbuilt(
    root: Path,
    files: Sequence[str],
    sources: Mapping[str, bytes],
    built: Sequence[Extension],
    texts: Mapping[str, bytes],
) -> tuple[str, ...]:
    """Of these sources, those that lie beside what an extension lists, whole and by name, and are no part of it."""
    closed: dict[str, bool] = {}
    roots: set[str] = set()
    for extension in built:
        own_files = extension.files(sources)
        roots |= own_files
        if extension.sources:
            whole = not any("*" in s for s in extension.sources) and len(own_files) >= len(extension.sources)
            whole = whole and extension.builder != BUILDER and not _COLLECTS.search(texts[extension.path])
            closed[extension.folder] = closed.get(extension.folder, True) and whole
    if not any(closed.values()):
        return ()
    linked = _with_includes(roots, sources)
    left = [path for path in sources if path not in linked and closed.get(_nearest(path, closed), False)]
    if not left:
        return ()
    others = {path: data for path in files if _BUILDS.search(path) and (data := beginning(root / path, _LARGEST))}
    return tuple(path for path in sorted(left) if not _named_by(path, texts.values()) and not _made_by(path, others))


def linked(sources: Mapping[str, bytes], built: Sequence[Extension]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """(source without kernels, the sources of kernels that one extension builds with it)"""
    kernels = {path for path, data in sources.items() if KERNEL in data}
    found: dict[str, set[str]] = {}
    folders = {extension.folder for extension in built}
    for extension in built if kernels else ():
        own_files: Collection[str] = extension.files(sources)
        if not own_files and extension.builder in (CUDA, "load"):  # it collects them: what lies below it
            own_files = [path for path in sources if _nearest(path, folders) == extension.folder]
        together = _with_includes(own_files, sources)
        for path in together - kernels:
            found.setdefault(path, set()).update(together & kernels)
    return tuple((path, tuple(sorted(beside))) for path, beside in sorted(found.items()) if beside)


def _nearest(path: str, folders: Iterable[str]) -> str:
    """The folder of an extension that a source lies in; the innermost of them."""
    around = [folder for folder in folders if not folder or path.startswith(f"{folder}/")]
    return max(around, key=len, default="?")


def _named_by(path: str, texts: Iterable[bytes]) -> bool:
    name = bytes_of(path.rpartition("/")[2])
    return any(name in data for data in texts)


def _made_by(path: str, others: Mapping[str, bytes]) -> bool:
    """Whether a build around it names a source, or takes all that lie there. That of an example builds the example."""
    for other, data in others.items():
        folder = other.rpartition("/")[0]
        if (not folder or path.startswith(f"{folder}/")) and not _EXAMPLES.search(other):
            if _named_by(path, [data]) or _ANY.search(data):
                return True
    return False


def _with_includes(roots: Iterable[str], sources: Mapping[str, bytes]) -> set[str]:
    """With what they include, and what that includes; by the end of the path, as nobody knows the folders of the compiler."""
    by_name: dict[str, list[str]] = {}
    for path in sources:
        by_name.setdefault(path.rpartition("/")[2], []).append(path)

    def included(path: str) -> Iterator[str]:
        for match in _INCLUDE.finditer(sources[path]):
            name = match[1].decode("utf-8", "replace")
            yield from by_name.get(name.rpartition("/")[2], ())

    found, todo = set(roots), [*roots]
    while todo:
        more = set(included(todo.pop())) - found
        found |= more
        todo += more
    return found
