"""Finds the packages that a project contains itself, by the names of its files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from porter.project.counterpart_files import PROJECT
from porter.regex import lazy
from porter.rulebook.gate import opening

_BESIDE = frozenset({"tests", "test", "examples", "example", "docs", "scripts", "tools", "benchmarks"})  # no packages
_CUDA_FOLDER = lazy(r"(?:^|_)cuda\d*(?:$|_)")  # a package or module of the project that is called so


def packages(files: Sequence[str]) -> set[str]:
    """Packages that the project contains itself, such as `third/apex`; `third/src/apex` is given as `third/apex`."""
    known, found = {*opening()["packages"]}, set()
    sources = frozenset(path for path in files if path.endswith(".py"))
    # a folder that can be installed holds packages, also where it is one itself
    roots = {folder for folder, _, name in (path.rpartition("/") for path in files) if name in PROJECT}
    for path in sources:
        words = path.removesuffix(".py").split("/")
        for index, word in enumerate(words):
            above = words[:index]  # `word`: a package, a namespace with a package in it, or a module
            whole = words[index + 1 :] in (["__init__"], []) or len(words) == index + 3 and words[-1] == "__init__"
            if "cuda" in word and _CUDA_FOLDER.search(word) and "/".join([*above, "__init__.py"]) not in sources:
                found.add("/".join([*above, word]))
            is_top = "/".join([*above, "__init__.py"]) not in sources or "/".join(above) in roots
            if word in known and whole and is_top:
                if above and above[-1] in ("src", "python", "lib"):
                    above.pop()
                found.add("/".join([*above, word]))
                break
    return found


def packages_beside(files: Sequence[str]) -> dict[str, set[str]]:
    """The packages of a folder with a setup.py or the like, by that folder: `src/` between them does not count."""
    packages: dict[str, set[str]] = {}
    for path in files:
        if path.endswith("/__init__.py"):
            above, _, name = path.removesuffix("/__init__.py").rpartition("/")
            if name not in _BESIDE:
                packages.setdefault(above.removesuffix("src").rstrip("/"), set()).add(f"{above}/{name}".lstrip("/"))
    folders = {folder for folder, _, name in (path.rpartition("/") for path in files) if name in PROJECT}
    return {folder: packages[folder] for folder in folders & packages.keys()}


def without_devices(files: Sequence[str], with_cuda: set[str]) -> Iterator[str]:
    """Files like setup.py of packages that name no device. Their examples and tests may name devices."""
    packages = packages_beside(files)
    speaking = {str(folder) for path in with_cuda for folder in PurePosixPath(path).parents}
    for path in files:
        folder, _, name = path.rpartition("/")
        if name in PROJECT and (own := packages.get(folder)) and own.isdisjoint(speaking):
            yield path
