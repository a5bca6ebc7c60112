"""Files that compute with another framework than torch, in a project that has others for torch, and scripts that start such alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from posixpath import join, normpath

from porter.project.imports import Import
from porter.regex import lazy
from porter.rulebook.table import hints

FRAMEWORKS = hints("another-framework")
_WORDS = tuple(f"{word} {name}".encode() for name in sorted(FRAMEWORKS) for word in ("import", "from"))
_STARTED = lazy(rb"(?m)^(?![ \t]*#)[^#\n]*?\bpython[\d.]*[ \t]+(?:-[a-zA-Z]+[ \t]+)*([\w./-]+)")
_OTHERS = lazy(rb"(?m)^[ \t]*(?:import|from)[ \t]+(?:tensorflow|jax|flax)\b")


def of_others(files: Iterable[str], read: Callable[[str], bytes | None]) -> Callable[[str, bytes], bool]:
    """A function that says of a script whether all programs that it starts are files of the project that import TensorFlow or JAX and
    do not name torch."""
    known = frozenset(files)

    def starts_others(script: str, data: bytes) -> bool:
        names = {name.decode() for name in _STARTED.findall(data)}
        paths = {_place(script, name, known) for name in names}
        return bool(paths) and all(path and _is_of_others(read(path)) for path in paths)

    return starts_others


def _place(script: str, name: str, known: frozenset[str]) -> str:
    """The file of the project that a script starts from its own folder or from one above it; "" where there is none."""
    folder = script
    while folder:
        folder = folder.rpartition("/")[0]
        if (path := normpath(join(folder, name))) in known:
            return path
    return ""


def _is_of_others(text: bytes | None) -> bool:
    return text is not None and b"torch" not in text and _OTHERS.search(text) is not None


def computes_otherwise(text: bytes) -> bool:
    """Whether a file may import another framework, and never says torch."""
    return b"torch" not in text and any(word in text for word in _WORDS)


def always_imports_another(statements: Iterable[Import]) -> bool:
    return any(s.outermost and s.module.partition(".")[0] in FRAMEWORKS for s in statements)
