"""Finds programs that take modules from a folder beside the project: `sys.path.append("../their_code")`.

Nobody has seen that code: its CUDA calls are in no finding.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence

from porter.project.imports import Project
from porter.regex import lazy, rare
from porter.rulebook.table import load, package_row

_ADDED = rare(rb"(?m)^[^#\n]*\bsys\.path\.(?:append|insert)\(([^\n]*)")
_TEXT = lazy(rb"[\"']([^\"'\n]*)[\"']")
_COMMON = frozenset(  # what any program may import; of the rest, one may come from that folder
    "torch torchvision torchaudio numpy scipy pandas sklearn matplotlib seaborn tqdm yaml PIL cv2 h5py networkx einops".split()
)
_FOLDER = lazy(r"[A-Za-z_][\w.-]*")
# what stands between the words of a name may differ: `Mask-Former` has the package mask_former
_BETWEEN_WORDS = lazy(r"[-_.]")
_BUILDS_PAGES = lazy(r"(?:^|/)conf\.py$")  # what Sphinx reads imports what pages are made with
_SUBMODULE = lazy(rb"(?m)^[ \t]*path[ \t]*=[ \t]*([\w./-]+)")
_INSTALLERS = ("pyproject.toml", "setup.py", "setup.cfg")
# what the repository is called where it is published
_HOME = lazy(rb"(?<!\+https://)git\w+\.com[/:][\w.-]+/([\w.-]+?)(?:\.git)?/?[\"'\s]")


def outside(
    files: Sequence[str], texts: Mapping[str, bytes], project: Project, own: str, read: Callable[[str], bytes]
) -> Iterator[tuple[str, str]]:
    """(path, folder) of each such program that imports what the project does not have. `texts`: Python files that import
    anything. `own`: the name of the project's own folder. `read` reads a list of what is installed."""
    asking = {path: data for path, data in texts.items() if b"sys.path." in data and not _BUILDS_PAGES.search(path)}
    folders = _own_names(files, own, read) if asking else set()
    for path, data in asking.items():
        for match in _ADDED.finditer(data):
            written = [text.decode("utf-8", "replace") for text in _TEXT.findall(match[1])]
            above, _, folder = (written[-1] if written else "").rstrip("/").rpartition("/")
            if above.startswith("/") or not _FOLDER.fullmatch(folder) or _plain(folder) in folders:
                continue
            if any(_is_elsewhere(path, name, project) for name in _below(path, match.end(), project)):
                yield path, folder
                break


def _own_names(files: Sequence[str], own: str, read: Callable[[str], bytes]) -> set[str]:
    """The names of the folders of a project. Its own is called as it was cloned; a service may clone it into itself."""
    names = {own, *(part for path in files for part in path.split("/")[:-1])}
    names |= {name.decode() for path in _INSTALLERS if path in files for name in _HOME.findall(read(path))}
    # folders of submodules, which may be empty
    names |= {part.decode() for path in _SUBMODULE.findall(read(".gitmodules")) for part in path.split(b"/")}
    return set(map(_plain, names))


def _plain(name: str) -> str:
    return _BETWEEN_WORDS.sub("", name).lower()


def _below(path: str, offset: int, project: Project) -> Iterator[str]:
    """The first words of what a file imports behind a place."""
    for statement in project.read(path):
        if statement.offset > offset and not statement.module.startswith("."):
            yield statement.module.partition(".")[0]


def _is_elsewhere(path: str, name: str, project: Project) -> bool:
    if name in sys.stdlib_module_names or name in _COMMON or package_row(name, load().packages):
        return False
    return not project.nearest(path, name)
