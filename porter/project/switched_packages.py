"""Finds packages from elsewhere that files tell to use a GPU, by an argument of the package's own: `Reader(["en"], gpu=True)`.

What a package does with that is its own business: mostly it asks torch for CUDA, and stops without, or takes the CPU.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from porter.python.evidence import CUDA_LIBRARIES
from porter.python.given_by_keyword import KNOWN
from porter.python.library_switches import is_named
from porter.regex import lazy
from porter.rulebook import table
from porter.rulebook.table import hints

_IMPORTED = lazy(rb"(?m)^[ \t]*(?:from[ \t]+(\w+)[\w.]*[ \t]+import\b|import[ \t]+(\w[^#\n;]*))")
_NAME = lazy(rb"(?:^|,)[ \t]*(\w+)")
_KEEP = hints("keeps-what-it-is-given")


def switched_packages(files: Iterable[str], texts: Mapping[str, bytes]) -> tuple[str, ...]:
    """The packages that files with such an argument import: none of the project, of torch or for NPUs, and none of which porter
    knows more."""
    imported = {name for text in texts.values() if is_named(text) for name in _roots(text)}
    if not imported:
        return ()
    own = {word.removesuffix(".py") for path in files if path.endswith(".py") for word in path.split("/")}
    rows = table.load().packages
    ported = {name for name in imported if name in rows and rows[name].status in ("native", "plugin")}
    others = imported - own - ported - _KEEP - CUDA_LIBRARIES - KNOWN
    return tuple(sorted(name for name in others if not name.startswith("torch")))


def _roots(text: bytes) -> Iterator[str]:
    for match in _IMPORTED.finditer(text):
        names = [match[1]] if match[1] else _NAME.findall(match[2])
        yield from (name.decode() for name in names)
