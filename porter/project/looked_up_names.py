"""Says whether parts of a file may be used by names that are made at run time: `getattr(models, name)`, `globals()[name]`."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from functools import cached_property

from porter.files.paths import bytes_of
from porter.project.imports import Project
from porter.python.graphs import reached
from porter.regex import lazy, rare

# names that are made at run time: looked up in the file itself, or in all modules. Each pattern begins with plain letters, so
# that the search is fast
_LOOKED_UP = {
    b"globals(": lazy(rb"globals(?<=\bglobals)\("),
    b"vars()": lazy(rb"vars(?<=\bvars)\(\)"),
    b"eval(": lazy(rb"eval(?<![.\w]eval)\("),
    b"sys.modules": lazy(rb"sys(?<=\bsys)\.modules\b"),
}
_LONGEST = 80  # characters of a name
_HELD = b"__dict__"  # names are looked up in the object before it; without one, in the file itself
_HOLDER = lazy(rb"(?<![\w.])((?:\w+\.)*\w+)\.\Z")
_OWN = frozenset({b"self", b"cls", b"config"})
_CALLED = lazy(rb"^[ \t]*import[^\n]*?([\w.]+)[ \t]+as[ \t]+(\w+)", re.MULTILINE)
_ASKED = rare(rb"(?:getattr|vars)\([ \t]*((?:\w+\.)*\w+)[ \t]*[,)]")  # `getattr(models, name)`
# searched for before the patterns, as most files have none of these
_LOOKS_UP = (b"getattr(", b"vars(", b"__dict__")
_STAR = lazy(rb"import[ \t]+\*")
_STARRED = lazy(rb"^[ \t]*from[ \t]+(?:[\w.]*\.)?(\w+)[ \t]+import[ \t]+\*", re.MULTILINE)


class LookedUpNames:
    """What the files of a project look up so. `sources`: its Python files."""

    def __init__(self, sources: Sequence[str], text: Callable[[str], bytes], project: Project) -> None:
        self._sources, self._text, self._project = sources, text, project
        self._imports = project.read
        self._packages: dict[str, set[str]] = {}
        self._known: dict[str, bool] = {}  # answers, if all other files run

    def has(self, home: str, idle: Collection[str] = ()) -> bool:
        """Whether any part of a file may be looked up. `idle`: files that nothing runs."""
        if idle:
            return self._has(home, idle)
        if home not in self._known:
            self._known[home] = self._has(home, ())
        return self._known[home]

    def _has(self, home: str, idle: Collection[str]) -> bool:
        module = bytes_of(home.removesuffix(".py").rpartition("/")[2])
        if any(p != home and p not in idle and module in modules for p, modules in self._starring.items()):
            return True
        return self._is_asked(module, home) or self._is_handed_up(home) or self._looks_up(home)

    def _is_asked(self, name: bytes, home: str) -> bool:
        """Whether another file looks names up in a module or package of this name."""
        return any(name in objects for path, objects in self._asked.items() if path != home)

    def _is_handed_up(self, home: str) -> bool:
        """Whether a package in which names are looked up may have those of a file: its `__init__.py` comes to the file."""
        folders = home.split("/")[:-1]
        return any(
            self._is_asked(bytes_of(name), home) and home in self._handed("/".join(folders[:count]) + "/")
            for count, name in enumerate(folders, 1)
        )

    def _handed(self, folder: str) -> set[str]:
        """The files of a package to which the imports of its `__init__.py` lead."""
        if folder not in self._packages:
            first = [path for path in (f"{folder}__init__.py",) if path in self._sources]
            self._packages[folder] = reached(
                first, lambda path: {p for p in self._project.files(path) if p.startswith(folder)}
            )
        return self._packages[folder]

    def _looks_up(self, path: str) -> bool:
        """Whether a file makes names at run time."""
        text = self._text(path)
        if any(word in text and pattern.search(text) for word, pattern in _LOOKED_UP.items()):
            return True
        holders = _holders(text) - _OWN
        return b"" in holders or bool(self._modules(path, holders))

    @cached_property
    def _asked(self) -> dict[str, set[bytes]]:
        """The files that look names up in modules, with the last words of these modules."""
        texts = ((p, self._text(p)) for p in self._sources)
        asking = ((p, text) for p, text in texts if any(word in text for word in _LOOKS_UP))
        return {p: self._modules(p, {*_ASKED.findall(text), *_holders(text)} - {b""}) for p, text in asking}

    def _modules(self, path: str, objects: Collection[bytes]) -> set[bytes]:
        """The last words of those objects that may be modules: an import binds them, not `model` of `def ask(model, name)`."""
        if not objects:
            return set()
        bound = {imported: imported for i in self._imports(path) for imported in i.module.split(".")}
        bound |= {called: imported for i in self._imports(path) for imported, called in i.names}
        known = {called.encode(): imported.encode() for called, imported in bound.items()}
        known |= {called: module.rpartition(b".")[2] for module, called in _CALLED.findall(self._text(path))}
        found = set[bytes]()
        for dotted in objects:
            first, _, rest = dotted.partition(b".")
            if first in known or b"*" in known:
                found.add(rest.rpartition(b".")[2] or known.get(first, first))
        return found

    @cached_property
    def _starring(self) -> dict[str, frozenset[bytes]]:
        """The files that look names up and import modules with a star, with the last words of these modules."""
        texts = ((p, self._text(p)) for p in self._sources)
        starring = ((p, frozenset(_STARRED.findall(text))) for p, text in texts if _STAR.search(text))
        return {p: modules for p, modules in starring if modules and self._looks_up(p)}


def _holders(text: bytes) -> set[bytes]:
    """`lib.models` of `lib.models.__dict__`; b"" for one that stands alone."""
    found, at = set[bytes](), text.find(_HELD)
    while at >= 0:
        match = _HOLDER.search(text, max(0, at - _LONGEST), at)
        found.add(match[1] if match else b"")
        at = text.find(_HELD, at + 1)
    return found
