"""Says which modules of a project may be loaded by names that are made at run time.

`import_module(f"models.archs.{name}")` loads modules of models/archs alone, and in a package `import_module(f".{name}", __name__)`
those of the package; where the file that says so lists those whose names end in `_arch.py`, only these.

A name may also be split off a path: `module, cls = "models.vae.Decoder".rsplit(".", 1)`. Then the names of the module and of the
class stand somewhere in the project, as words. Or a module is only loaded for what it does by itself: `import_module(plugin)` as a
statement. Then nobody looks up parts of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import NamedTuple

from porter.regex import lazy

# a module is loaded by a name that is no plain string
_LOADED = lazy(rb"(?:import_module|__import__)\((?![ \t\n]*[ruRU]?[\"'][\w.]+[\"'][ \t\n]*[,)])[ \t\n]*")
# the text with which the name begins, up to its last dot: `f"models.{name}"`, `"models." + name`, `"models.%s" % name`
_PREFIX = lazy(rb"[rfRF]{0,2}[\"'](\w[\w.]*)\.(?:[\"'][ \t]*\+|%s|\{)")
# a module of the package itself: `import_module(f".{name}", __name__)`, `import_module("." + name, package=__package__)`
_RELATIVE = lazy(
    rb"(?:[fF][\"']\.\{[^\"'\n]*[\"']|[\"']\.[\"'][ \t]*\+[^,\n]*),[ \t\n]*(?:package[ \t]*=[ \t]*)?__(?:name|package)__"
)
_LISTED = lazy(rb"\.endswith\([ \t]*[\"'](\w+)\.py[\"']")
# names that are split off a path, and such a path without its last part
_SPLIT = lazy(
    rb"(?m)^[ \t]*(\w+)[ \t]*,(?:[ \t]*\w+[ \t]*,)?[ \t]*\w+[ \t]*=[^\n=]*\.(?:rsplit\([ \t]*[\"']\.[\"'][ \t]*,[^\n)]*1|rpartition\([ \t]*[\"']\.[\"'])"
)
_BEGINNING = lazy(rb"[\"']\.[\"']\.join\(\w+\[:-1\]\)")
_WORD = lazy(rb"(\w+)[ \t\n]*[,)]")
_STATEMENT = lazy(rb"(?:^|\n)[ \t]*(?:importlib\.)?\Z")  # what stands before a call that is a statement
# how the name of a copy begins that is made to be loaded, as mmcv's Config does with settings
_TEMPORARY = (b"temp", b"tmp")
_FAR = 200  # bytes; a line before a call is no longer than this
_LOADS = (b"import_module", b"__import__")  # searched for before the patterns, as most files have none of these


class _Load(NamedTuple):
    file: str
    prefix: str  # ".models.archs."; "" where it is not known
    suffix: str  # with which the names of the files end, where the prefix is known
    is_spelled: bool  # the name is a part of a path that stands somewhere in the project
    is_for_effect: bool  # nothing is taken from the module


class LoadedNames:
    """What the files of a project load by such names. `sources`: its Python files."""

    def __init__(self, sources: Iterable[str], text: Callable[[str], bytes]) -> None:
        self._sources, self._text = sources, text

    def has(self, path: str) -> bool:
        """Whether a file may be loaded by a name that perhaps stands nowhere in the project."""
        return any(not load.is_spelled for load in self._of(path))

    def has_parts(self, path: str) -> bool:
        """Whether, in addition, parts of the file may be looked up so."""
        return any(not load.is_spelled and not load.is_for_effect for load in self._of(path))

    def _of(self, path: str) -> Iterable[_Load]:
        """The loads that may mean a file."""
        top = path.partition("/")[0]
        dotted = "." + path.removesuffix(".py").replace("/", ".")
        return (
            load
            for load in self._loads
            if (
                load.prefix in dotted and dotted.endswith(load.suffix)
                if load.prefix
                else "/" not in load.file or load.file.partition("/")[0] == top
            )
        )

    def by(self, path: str) -> set[str]:
        """The files that one file may load by names whose beginning is known."""
        loads = [load for load in self._loads if load.file == path and load.prefix]
        dotted = {file: "." + file.removesuffix(".py").replace("/", ".") for file in self._sources} if loads else {}
        return {f for f, name in dotted.items() for load in loads if load.prefix in name and name.endswith(load.suffix)}

    @cached_property
    def _loads(self) -> list[_Load]:
        texts = ((path, self._text(path)) for path in self._sources)
        return [load for path, text in texts if any(word in text for word in _LOADS) for load in _loads(path, text)]


def loads_any(text: bytes) -> bool:
    """Whether a file loads a module by a name of which nothing is known."""
    return any(word in text for word in _LOADS) and any(not load.prefix for load in _loads("", text))


def _loads(path: str, text: bytes) -> Iterable[_Load]:
    suffixes = {suffix.decode() for suffix in _LISTED.findall(text)}
    suffix = suffixes.pop() if len(suffixes) == 1 else ""
    split = {*_SPLIT.findall(text)}
    for match in _LOADED.finditer(text):
        prefix = _PREFIX.match(text, match.end())
        beginning = f".{prefix[1].decode()}." if prefix else ""
        if path.endswith("/__init__.py") and _RELATIVE.match(text, match.end()):
            beginning = f".{path.removesuffix('__init__.py').replace('/', '.')}"
        word = _WORD.match(text, match.end())
        if word and word[1].startswith(_TEMPORARY) and b"tempfile" in text:
            continue
        is_spelled = word[1] in split if word else _BEGINNING.match(text, match.end()) is not None
        before = text[max(0, match.start() - _FAR) : match.start()]
        is_for_effect = _STATEMENT.search(before) is not None and b"sys.modules" not in text
        yield _Load(path, beginning, suffix, is_spelled, is_for_effect)
