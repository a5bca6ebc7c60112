"""Finds loaders that a project puts in the place of `torch.load` and that say themselves whether all may be unpickled."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from porter.files.paths import is_test
from porter.regex import lazy

_REPLACED = lazy(rb"(?m)^torch\.load[ \t]*=[ \t]*(?:(?:\w+\.)*(\w+)[ \t]*(?:#|\r?$)|[^\n]*\bweights_only\b)")


def replaced_loads(texts: Mapping[str, bytes]) -> tuple[str, ...]:
    """The folders of the packages in which `torch.load` is such a loader, `torch.load = torch_load`, and programs that set it for
    themselves: how the paths of their files begin."""
    found = set[str]()
    for path, data in texts.items():
        match = _REPLACED.search(data) if b"\ntorch.load" in data and not is_test(path) else None
        if match and (match[1] is None or _says_it(match[1], texts.values())):
            found.add(_package(path, texts.keys()))
    return tuple(sorted(found))


def _says_it(name: bytes, texts: Collection[bytes]) -> bool:
    return any(b"def %s(" % name in data and b"weights_only" in data for data in texts)


def _package(path: str, files: Collection[str]) -> str:
    """The outermost package that a file is in: "ultralytics/" of `ultralytics/utils/__init__.py`; the file where it is in none."""
    folder = path.rpartition("/")[0]
    while "/" in folder and f"{folder.rpartition('/')[0]}/__init__.py" in files:
        folder = folder.rpartition("/")[0]
    return f"{folder}/" if folder and f"{folder}/__init__.py" in files else path
