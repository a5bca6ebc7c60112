"""Finds programs that never use a device, in projects whose other programs do.

Such a program is a script that trains or lies among examples, or a notebook that trains, and no file imports it. It chooses no
device. Neither does what it uses of the files that it imports, over any number of files, and it uses packages alone that compute
where their arguments lie. An import of any other package may bring a device, as those of trainers do.

What a file defines counts as used if a part that is used has its name as a word. Code that looks names up at run time may use all.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial

from porter.files.paths import is_test
from porter.project.device_choices import Imported, Part, chooses, imported, looks_up, may_choose, parts, words_of
from porter.project.entry_scripts import acts, is_guarded
from porter.project.imports import Import, imports
from porter.project.modules import module_of
from porter.project.notebook_twins import code_of
from porter.project.roads import Survey
from porter.python.graphs import reached
from porter.python.kept import Remember, Rows, rows_of
from porter.python.trees import tree_of
from porter.regex import lazy
from porter.rulebook.table import hints

Parse = Callable[[bytes], ast.Module | None]

_SHOWS = lazy(r"(?:^|/)(?:examples?|demos?|tutorials?)/")  # what lies there may be a program that does not train
_TELL = frozenset({"logger", "logging"})  # of whatever package: they compute nothing
_TRAINS = (b".backward(", b".step()", b"autograd.grad(")  # one of which a text that trains has
# what a notebook that uses CUDA says in its code, as `.cuda()`; the letters of a picture, as base64 writes it, never have these signs
_NAMES_CUDA = lazy(rb"[.'_]cuda|cuda[.:'_]")


def host_programs(survey: Survey, parse: Parse, kept: Remember) -> tuple[str, ...]:
    """The programs of a project that never use a device."""
    return tuple(_Programs(survey, parse, kept).on_host())


class _Programs:
    def __init__(self, survey: Survey, parse: Parse, kept: Remember) -> None:
        self._texts, self._notebooks, self._project = survey.texts, dict(survey.notebooks()), survey.project
        self._parse, self._kept = parse, kept
        self._plain = hints("computes-where-it-is-told") | sys.stdlib_module_names
        self._parts: dict[str, tuple[list[Part], list[Imported]]] = {}

    def on_host(self) -> Iterator[str]:
        programs = {path: text for path, text in self._texts.items() if _is_program(path, text)}
        programs |= {path: text for path, data in self._notebooks.items() if (text := self._code(data))}
        alone = {path: text for path, text in programs.items() if not self._chooses(text)}
        alone = {path: text for path, text in alone.items() if not self._brings(path, imports(text))}
        taken = self._taken(alone)
        for path, text in sorted(alone.items()):
            if path not in taken and not self._reaches(path, text):
                yield path

    def _chooses(self, text: bytes) -> bool:
        return bool(rows_of(text, "chooses-a-device", (), lambda: (chooses(text),), self._kept)[0])

    def _code(self, data: bytes) -> bytes:
        """The code of a notebook, if it trains and nothing in it names CUDA; else nothing."""
        if not any(word in data for word in _TRAINS) or _NAMES_CUDA.search(data):
            return b""
        code: str = rows_of(data, "code-of-cells", (), lambda: (code_of(data),), self._kept)[0]
        return code.encode("utf-8", "surrogatepass")

    def _brings(self, path: str, statements: Iterable[Import]) -> bool:
        """Whether an import may bring a device: it is no file of the project, and its package is not known to bring none."""
        modules = {statement.module for statement in statements if not statement.module.startswith(".")}
        tops = {module.partition(".")[0] for module in modules if not self._project.named(path, module)}
        # a module of the project's own package may be gone
        return any(top not in self._plain and not self._project.named(path, top) for top in sorted(tops))

    def _taken(self, programs: Mapping[str, bytes]) -> set[str]:
        """Those that another file imports."""
        stems = {module_of(path).rpartition("/")[2] for path in programs if path.endswith(".py")}
        if not stems:
            return set()
        naming = (p for p in self._texts if not is_test(p) and not stems.isdisjoint(self._words(p)))
        return set().union(*map(self._project.files, (*naming, *self._notebooks)))

    def _words(self, path: str) -> Iterator[str]:
        """All that the imports of a file name."""
        for statement in self._project.read(path):
            yield from statement.module.split(".")
            yield from (name for name, _ in statement.names)

    # ---- what a program uses of other files

    def _reaches(self, path: str, text: bytes) -> bool:
        """Whether a program uses a part of another file that chooses a device."""
        files = reached([path], self._project.files) - {path}
        if not any(
            may_choose(self._texts.get(file, b"")) or self._brings(file, self._project.read(file)) for file in files
        ):
            return False
        by_name: dict[str, list[tuple[str, Part]]] = {}
        todo: list[tuple[str, Part]] = [(path, Part((), tuple(words_of(text)), looks_up(text), True))]
        for file in sorted(files):
            for part in self._read(file)[0]:
                todo += [(file, part)] if part.always else []
                for name in part.names:
                    by_name.setdefault(name, []).append((file, part))
        seen: set[str] = set()
        for file, part in todo:  # which grows
            if part.chooses or self._uses_other(file, part):
                return True
            fresh = {*part.words} - seen
            seen |= fresh
            todo += [found for word in sorted(fresh & by_name.keys()) for found in by_name[word]]
        return False

    def _uses_other(self, file: str, part: Part) -> bool:
        """Whether a part uses a package that may bring a device."""
        if file not in self._texts or not self._brings(file, self._project.read(file)):
            return False
        return any(
            one.package and one.package not in self._plain and one.name in part.words and one.name not in _TELL
            and not self._project.named(file, one.package)
            for one in self._read(file)[1]
        )  # fmt: skip

    def _read(self, path: str) -> tuple[list[Part], list[Imported]]:
        if path not in self._parts:
            make = partial(_rows, self._texts.get(path, b""), self._parse)
            rows = rows_of(self._texts.get(path, b""), "parts", (), make, self._kept)
            self._parts[path] = [Part(*row) for row in rows[0]], [Imported(*row) for row in rows[1]]
        return self._parts[path]


def _rows(text: bytes, parse: Parse) -> Rows:
    if parse(text) is None:  # nobody can tell
        return ((tuple(Part((), (), True, True)),), ())
    tree = tree_of(text)  # anew: `parse` keeps trees for all who ask, and `parts` takes the texts out
    names = tuple(imported(tree))  # before `parts`
    return tuple(map(tuple, parts(tree))), tuple(map(tuple, names))


def _is_program(path: str, text: bytes) -> bool:
    if b"torch" not in text or is_test(path) or not (is_guarded(text) or acts(text)):
        return False
    return any(word in text for word in _TRAINS) or _SHOWS.search(path) is not None
