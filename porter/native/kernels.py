"""Exports of C++ followed to the CUDA kernels that they end in, by the names of functions.

By name alone, within one extension: overloads are one function, and a macro is a function of what it is made of.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from porter.files.kinds import NATIVE, kind_of
from porter.files.paths import bytes_of
from porter.files.read import beginning
from porter.native import builders, extensions
from porter.native.bindings import LAUNCH
from porter.native.extensions import FFI, Extension
from porter.native.uses import OPS
from porter.python.graphs import reached
from porter.python.kept import Remember, anew, rows_of
from porter.python.trees import Parse
from porter.regex import lazy, rare

if TYPE_CHECKING:
    from porter.native.cpp import Cpp

_LARGEST = 1_000_000
_ALL = 64_000_000  # bytes of one project that are parsed; the rest is named without its callers
_EXPORTS = rare(rb"PYBIND11_MODULE|TORCH_LIBRARY|NB_MODULE|RegisterOperators")
_CALLED = lazy(
    r"(?:cublas|cudnn|cufft|cusolver|cusparse)\w*?(?:[gG]emm|Matmul|SpM[MV]|SDDMM|Exec|Forward|Backward|trsm|getr|potr|syev|gesvd)"
    r"(?!\w*(?:_t$|[bB]uffer|Desc|Algo|Workspace|Heuristic|Layout|Preference))"
)
_OURS = lazy(r"(?i)(?:^|_)(?:npu|ascend|aclnn)(?:_|$)")  # of a function that the project defines
_CANN = lazy(r"EXEC_NPU_\w+$|OpCommand$|aclnn[A-Z]|__aicore__$")
_HEADERS = (".h", ".hpp", ".cuh", ".hh", ".hxx")  # what is defined there, others may use
_ROOTS = ("csrc", "src", "cuda", "cpp")
Reached = dict[str, str]  # kernel -> its file
Listed = Sequence[tuple[Extension, frozenset[str]]]
PLAIN = "CppExtension"  # builds for the host alone


class Exported(NamedTuple):
    """By the last word of the extension's name, or "torch.ops.ns", and by the name in Python."""

    reached: dict[str, dict[str, Reached]]
    keys: dict[str, dict[str, set[str]]]  # of everything that is exported: for which keys of the dispatcher
    homes: dict[
        str, dict[str, dict[str, Reached]]
    ]  # `reached` by the folder that builds a module: module, folder, name

    def add(self, module: str, folder: str, name: str, kernels: Reached) -> None:
        """Notes what a function of a module ends in; `folder`: where the module is built."""
        for names in (self.reached.setdefault(module, {}), self.homes.setdefault(module, {}).setdefault(folder, {})):
            names.setdefault(name, {}).update(kernels)


def sources_of(root: Path, files: Iterable[str]) -> dict[str, bytes]:
    sources, bytes_left = {}, _ALL
    for path in sorted(files):
        if kind_of(path) == NATIVE:
            data = beginning(root / path, _LARGEST + 1)
            if data is None:
                continue
            bytes_left -= len(data)
            if len(data) <= _LARGEST and bytes_left > 0:
                sources[path] = data
    return sources


def binds(sources: Mapping[str, bytes], texts: Mapping[str, bytes]) -> bool:
    """Whether any of the sources hands something to Python, or any Python file has it handed over."""
    return any(map(_EXPORTS.search, sources.values())) or any(FFI.encode() in text for text in texts.values())


def built_by(texts: Mapping[str, bytes], parse: Parse, kept: Remember = anew) -> list[Extension]:
    """The extensions that some Python files build; `kept`: of single files."""

    def in_file(path: str) -> tuple[tuple[Any, ...], ...]:
        tree = parse(texts[path])
        return (
            ()
            if tree is None
            else (*map(tuple, extensions.in_file(path, tree)), *map(tuple, builders.named(path, tree)))
        )

    built: list[Extension] = []
    for path in sorted(texts):
        if extensions.mentioned(texts[path]):
            rows = rows_of(texts[path], "extensions", (), partial(in_file, path), kept, path)
            built += [Extension(*row) for row in rows]
    return builders.with_heirs(built, texts, parse)


class _Read(Mapping[str, "Cpp"]):
    """Sources by path, parsed when they are asked for: what no binding is linked with never is."""

    def __init__(self, sources: Mapping[str, bytes]):
        self._sources = sources
        self._read: dict[str, Cpp] = {}

    def __getitem__(self, path: str) -> Cpp:
        if path not in self._read:
            from porter.native import cpp

            self._read[path] = cpp.read(self._sources[path])
        return self._read[path]

    def __iter__(self) -> Iterator[str]:
        return iter(self._sources)

    def __len__(self) -> int:
        return len(self._sources)


def exported(sources: Mapping[str, bytes], built: Sequence[Extension], kept: Remember = anew) -> Exported:
    """`kept` may know what was made of the same sources before."""
    digest = hashlib.sha256(repr(built).encode())
    for path, data in sources.items():
        digest.update(b"%s\0%d\0" % (bytes_of(path), len(data)))
        digest.update(data)
    return Exported(*kept(f"exported\0{digest.hexdigest()}", lambda: tuple(_exported(sources, built))))


def _exported(sources: Mapping[str, bytes], built: Sequence[Extension]) -> Exported:
    read = _Read(sources)
    listed = [(extension, extension.files(read)) for extension in built]
    result = Exported({}, {}, {})
    for path, data in sources.items():
        if not (_EXPORTS.search(data) or b".def(" in data) or not (source := read[path]).exports:
            continue
        for extension, own_files in _extensions(path, listed):
            whole = extension is not None and _is_whole(extension, own_files, built)
            words, ends = _linked(path, own_files, read, whole)
            for export in source.exports:
                module = export.module
                if module == "TORCH_EXTENSION_NAME":
                    module = extension.module if extension else ""
                if module:
                    module = OPS + module if export.library else module
                    result.keys.setdefault(module, {}).setdefault(export.name, set()).add(export.key)
                    if kernels := _reached(export.words, words, ends, path):
                        result.add(module, extension.folder if extension else _head(path)[:-1], export.name, kernels)
    for extension, own_files in listed:
        for path in sorted(own_files) if extension.builder == FFI else ():
            words, ends = _linked(path, own_files, read)
            for function in read[path].functions:
                if kernels := _reached([function.name], words, ends, path):
                    result.add(extension.module, extension.folder, function.name, kernels)
    return result


def _is_whole(extension: Extension, own_files: frozenset[str], built: Sequence[Extension]) -> bool:
    """Whether what is listed is all that an extension is built of, without CUDA: `CppExtension("cpu_ops", ["cpu_ops.cpp"])`,
    which no other place builds in another way."""
    same = [e for e in built if e.module == extension.module]
    listed = not any("*" in source for source in extension.sources) and len(own_files) >= len(extension.sources) > 0
    return listed and all(e.builder == PLAIN for e in same)


def _linked(
    path: str, own_files: frozenset[str], read: Mapping[str, Cpp], whole: bool = False
) -> tuple[dict[str, set[str]], Reached]:
    """What the functions that are linked with a source call, and where the kernels among them stand."""
    words: dict[str, set[str]] = {}
    ends: Reached = {}
    group = _group(path, own_files, read, whole)
    for other in group:
        macros = read[other].macros if other.endswith(_HEADERS) else ()
        for function in (*read[other].functions, *macros):
            words.setdefault(function.name, set()).update(function.words)
        for kernel in read[other].kernels:
            ends.setdefault(kernel.name, other)
    aliases = {alias for other in group for alias in read[other].aliases if alias[0] != alias[1]}
    methods: dict[str, list[str]] = {}
    for holder, colons, method in (name.partition("::") for name in words) if aliases else ():
        methods.setdefault(holder, []).extend([method] if colons else [])
    for alias, held in sorted(aliases):
        for method in methods.get(held, ()):
            name = f"{alias}::{alias if method == held else method}"
            words.setdefault(name, set()).add(f"{held}::{method}")
    return words, ends


def inline(extension: Extension) -> dict[str, Reached]:
    """`load_inline`: the kernels stand in a string of the Python file."""
    from porter.native import cpp

    by_function: dict[str, Reached] = {}
    for text in extension.inline:
        source = cpp.read(text.encode("utf-8", "replace"))
        words = {function.name: set(function.words) for function in source.functions}
        ends = {kernel.name: extension.path for kernel in source.kernels}
        for name in extension.functions or [f.name for f in source.functions if f.name not in ends]:
            if kernels := _reached([name], words, ends, extension.path):
                by_function.setdefault(name, {}).update(kernels)
    return by_function


def _extensions(path: str, listed: Listed) -> Sequence[tuple[Extension | None, frozenset[str]]]:
    """What a binding goes into: those that list the file, or else the one that lists none and stands nearest above."""
    ordered = sorted(listed, key=lambda item: (len(item[0].folder), item[0].name), reverse=True)
    lists = {e.module: (e, files) for e, files in reversed(ordered) if path in files}
    if lists:
        return list(lists.values())
    near = ((e, files) for e, files in ordered if not e.sources and path.startswith(f"{e.folder}/".lstrip("/")))
    nothing: tuple[None, frozenset[str]] = None, frozenset()
    return [next(near, nothing)]


def _group(path: str, own_files: frozenset[str], read: Mapping[str, Cpp], whole: bool) -> list[str]:
    """The sources that are linked with a binding, with all that they include; without a list of them, all nearby."""
    if path in own_files:
        linked = _with_includes(own_files, read)
        if whole or any(read[p].kernels for p in linked):
            return linked
    head = _head(path)
    return sorted(p for p in read if p in own_files or p.startswith(head))


def _with_includes(own_files: frozenset[str], read: Mapping[str, Cpp]) -> list[str]:
    by_name: dict[str, list[str]] = {}
    for path in read:
        by_name.setdefault(path.rpartition("/")[2], []).append(path)

    def included(path: str) -> Iterator[str]:
        for name in read[path].includes:
            fitting = [p for p in by_name.get(name.rpartition("/")[2], ()) if f"/{p}".endswith("/" + name.lstrip("./"))]
            if fitting:
                yield max(fitting, key=lambda p: (_common(p, path), p))

    return sorted(reached(own_files, included))


def _common(path: str, other: str) -> int:
    """How many folders two files have in common."""
    pairs = zip(path.split("/")[:-1], other.split("/")[:-1])
    return next((index for index, (a, b) in enumerate(pairs) if a != b), min(path.count("/"), other.count("/")))


def _head(path: str) -> str:
    """The folder of all sources, as far as its name tells, or the file's own."""
    parts = path.split("/")[:-1]
    parts = next((parts[: index + 1] for index, part in enumerate(parts) if part in _ROOTS), parts)
    return "/".join(parts) + "/" if parts else ""


def _reached(names: Iterable[str], words: Mapping[str, set[str]], ends: Reached, path: str) -> Reached:
    """The kernels that some names lead to; none where one of the ways leads to an NPU."""
    kernels: Reached = {}
    launcher = ""
    todo, visited = sorted(names), set()
    while todo:  # breadth first: what is nearest is named first
        following: set[str] = set()
        for name in todo:
            if name in visited:
                continue
            if name in words and _OURS.search(name) or _CANN.match(name):
                return {}
            visited.add(name)
            if name in ends:
                kernels[name] = ends[name]
            if LAUNCH in words.get(name, ()):
                launcher = launcher or name
            following |= words.get(name, set())
            if _CALLED.match(name):
                kernels[name] = path
        todo = sorted(following - visited)
    return kernels or ({launcher: path} if launcher else {})  # of a kernel that is made by a macro, or from elsewhere
