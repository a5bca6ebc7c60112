"""Which Python ends in which CUDA kernel: exports of C++ followed to the kernels by the names of functions.

By name alone, within one extension: overloads are one function, and what a macro hides is not seen.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from porter.files.kinds import NATIVE, kind_of
from porter.project import extensions
from porter.project.extensions import Extension
from porter.project.nativeuses import OPS, uses
from porter.project.signals import SIDE

if TYPE_CHECKING:
    from porter.text.cpp import Cpp

LARGEST = 1_000_000
_ALL = 64_000_000  # bytes of one project that are parsed; the rest is named without its callers
_EXPORTS = re.compile(rb"PYBIND11_MODULE|TORCH_LIBRARY|NB_MODULE")
_CALLED = re.compile(
    r"(?:cublas|cudnn|cufft|cusolver|cusparse)\w*?(?:[gG]emm|Matmul|SpM[MV]|SDDMM|Exec|Forward|Backward|trsm|getr|potr|syev|gesvd)"
    r"(?!\w*(?:_t$|[bB]uffer|Desc|Algo|Workspace|Heuristic|Layout|Preference))"
)
_OURS = re.compile(r"(?i)(?:^|_)(?:npu|ascend|aclnn)(?:_|$)")
_ROOTS = ("csrc", "src", "cuda", "cpp")
_SHOWN, _PLACES = 3, 5
Parse = Callable[[bytes], "ast.Module | None"]


class Native(NamedTuple):
    """What Python calls, and where it ends."""

    module: str  # the last word of the extension's name, or "torch.ops.ns"
    name: str
    kernels: str  # the first of them
    path: str  # of the first


Reached = dict[str, str]  # kernel -> its file


def gather(
    root: Path, files: Sequence[str], texts: Mapping[str, bytes], parse: Parse
) -> tuple[tuple[Native, ...], tuple[tuple[str, str], ...]]:
    """What the project exports to Python, and (source, the Python that stops with it)."""
    sources = _sources(root, files)
    kernels = any(b"__global__" in data for data in sources.values())
    exported = kernels and any(_EXPORTS.search(data) for data in sources.values())
    if not exported and not any(b"__global__" in data and b"load_inline" in data for data in texts.values()):
        return (), ()
    built = [e for path in sorted(texts) if extensions.mentioned(texts[path]) for e in _built(path, texts[path], parse)]
    reached = _exported(sources, built) if exported else {}
    for extension in built:
        _inline(extension, reached)
    natives = tuple(
        Native(module, name, _shown(list(ends), _SHOWN), next(iter(ends.values())))
        for module, names in sorted(reached.items())
        for name, ends in sorted(names.items())
    )
    return natives, tuple(sorted(_dying(reached, texts, parse)))


def exports_of(natives: Iterable[Native]) -> dict[str, dict[str, Native]]:
    found: dict[str, dict[str, Native]] = {}
    for native in natives:
        found.setdefault(native.module, {})[native.name] = native
    return found


def mentions(data: bytes, exports: Mapping[str, Mapping]) -> bool:
    """Whether a file can use any of them: most cannot."""
    return any(
        module.removeprefix(OPS).strip("*").encode() in data and any(name.encode() in data for name in names)
        for module, names in exports.items()
    )


def _built(path: str, data: bytes, parse: Parse) -> Iterator[Extension]:
    tree = parse(data)
    if tree is not None:
        yield from extensions.found(path, tree)


def _sources(root: Path, files: Sequence[str]) -> dict[str, bytes]:
    found, left = {}, _ALL
    for path in sorted(files):
        if kind_of(path) == NATIVE:
            try:
                with open(root / path, "rb") as file:
                    data = file.read(LARGEST + 1)
            except OSError:
                continue
            left -= len(data)
            if len(data) <= LARGEST and left > 0:
                found[path] = data
    return found


class _Read(Mapping):
    """Sources by path, parsed when they are asked for: what no binding is linked with never is."""

    def __init__(self, sources: Mapping[str, bytes]):
        self._sources, self._read = sources, {}

    def __getitem__(self, path: str) -> Cpp:
        if path not in self._read:
            from porter.text import cpp

            self._read[path] = cpp.read(self._sources[path])
        return self._read[path]

    def __iter__(self) -> Iterator[str]:
        return iter(self._sources)

    def __len__(self) -> int:
        return len(self._sources)


def _exported(sources: Mapping[str, bytes], built: Sequence[Extension]) -> dict[str, dict[str, Reached]]:
    read = _Read(sources)
    listed = [(extension, extension.files(read)) for extension in built]
    out: dict[str, dict[str, Reached]] = {}
    for path, data in sources.items():
        if not (_EXPORTS.search(data) or b".def(" in data) or not (source := read[path]).exports:
            continue
        extension, own = _extension(path, listed)
        words: dict[str, set[str]] = {}
        ends: Reached = {}
        for other in _group(path, own, read):
            for function in read[other].functions:
                words.setdefault(function.name, set()).update(function.words)
            for kernel in read[other].kernels:
                ends.setdefault(kernel.name, other)
        for export in source.exports:
            module = OPS + export.module if export.library else export.module
            if export.module == "TORCH_EXTENSION_NAME":
                module = extension.module if extension else ""
            if module and (found := _reached(export.words, words, ends, path)):
                out.setdefault(module, {}).setdefault(export.name, {}).update(found)
    return out


Listed = Sequence[tuple[Extension, frozenset[str]]]


def _extension(path: str, listed: Listed) -> tuple[Extension | None, frozenset[str]]:
    """The one that a binding goes into: it lists the file, or lists none and stands nearest above."""
    near = [(e, files) for e, files in listed if path in files] or [
        (e, files) for e, files in listed if not e.sources and path.startswith(f"{e.folder}/".lstrip("/"))
    ]
    return max(near, key=lambda item: (len(item[0].folder), item[0].name), default=(None, frozenset()))


def _group(path: str, own: frozenset[str], read: Mapping[str, Cpp]) -> list[str]:
    """The sources that are linked with a binding, with all that they include; without a list of them, all nearby."""
    if path in own:
        linked = _with_includes(own, read)
        if any(read[p].kernels for p in linked):
            return linked
    head = _head(path)
    return sorted(p for p in read if p in own or p.startswith(head))


def _with_includes(own: frozenset[str], read: Mapping[str, Cpp]) -> list[str]:
    called: dict[str, list[str]] = {}
    for path in read:
        called.setdefault(path.rpartition("/")[2], []).append(path)
    found, todo = set(own), sorted(own)
    while todo:
        path = todo.pop()
        for name in read[path].includes:
            fitting = [p for p in called.get(name.rpartition("/")[2], ()) if f"/{p}".endswith("/" + name.lstrip("./"))]
            nearest = max(fitting, key=lambda p: (_common(p, path), p), default=None)
            if nearest is not None and nearest not in found:
                found.add(nearest)
                todo.append(nearest)
    return sorted(found)


def _common(one: str, other: str) -> int:
    """How many folders two files have in common."""
    pairs = zip(one.split("/")[:-1], other.split("/")[:-1])
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(one.count("/"), other.count("/")))


def _head(path: str) -> str:
    """The folder of all sources, as far as its name tells, or the file's own."""
    parts = path.split("/")[:-1]
    parts = next((parts[: at + 1] for at, part in enumerate(parts) if part in _ROOTS), parts)
    return "/".join(parts) + "/" if parts else ""


def _reached(start: Iterable[str], words: Mapping[str, set[str]], ends: Reached, path: str) -> Reached:
    """The kernels that some names lead to; none where one of the ways leads to an NPU."""
    found: Reached = {}
    todo, seen = sorted(start), set()
    while todo:  # breadth first: what is nearest is named first
        following: set[str] = set()
        for name in todo:
            if name in seen:
                continue
            if name in words and _OURS.search(name):
                return {}
            seen.add(name)
            if name in ends:
                found[name] = ends[name]
            following |= words.get(name, set())
            if _CALLED.match(name):
                found[name] = path
        todo = sorted(following - seen)
    return found


def _inline(extension: Extension, reached: dict[str, dict[str, Reached]]) -> None:
    """`load_inline`: the kernels stand in a string of the Python file."""
    from porter.text import cpp

    for text in extension.inline:
        source = cpp.read(text.encode("utf-8", "replace"))
        words = {function.name: set(function.words) for function in source.functions}
        ends = {kernel.name: extension.path for kernel in source.kernels}
        for name in extension.functions or [
            function.name for function in source.functions if function.name not in ends
        ]:
            if found := _reached([name], words, ends, extension.path):
                reached.setdefault(extension.module, {}).setdefault(name, {}).update(found)


def _dying(
    reached: dict[str, dict[str, Reached]], texts: Mapping[str, bytes], parse: Parse
) -> Iterator[tuple[str, str]]:
    """(source, the functions of Python that end in it)."""
    lost: dict[str, dict[tuple[str, str], None]] = {}
    for path in sorted(texts, key=lambda path: (SIDE.search(path) is not None, path)):
        tree = parse(texts[path]) if mentions(texts[path], reached) else None
        if tree is None:
            continue
        found = list(uses(tree, reached))
        inside = _functions(tree) if found else []
        for node, module, name in found:
            for source in reached[module][name].values():
                lost.setdefault(source, {})[path, _owner(inside, node.lineno)] = None
    for source, places in lost.items():
        yield source, _places(list(places))


def _places(places: list[tuple[str, str]]) -> str:
    """ "a.py: f, g; b.py: h (+2)": functions by file."""
    files: dict[str, list[str]] = {}
    for path, name in places[:_PLACES]:
        files.setdefault(path, []).append(name)
    said = (f"{path}: {', '.join(filter(None, names))}".removesuffix(": ") for path, names in files.items())
    return "; ".join(said) + _more(len(places) - _PLACES)


def _functions(tree: ast.Module, head: str = "") -> list[tuple[int, int, str]]:
    found = []
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            name = f"{head}.{node.name}".lstrip(".")
            found += [(node.lineno, node.end_lineno or node.lineno, name), *_functions(node, name)]
        elif isinstance(node, (ast.If, ast.Try, ast.With)):
            found += _functions(node, head)
    return found


def _owner(functions: list[tuple[int, int, str]], line: int) -> str:
    """The innermost; they are in the order of their nesting."""
    return next((name for first, last, name in reversed(functions) if first <= line <= last), "")


def _shown(names: list[str], most: int) -> str:
    return ", ".join(names[:most]) + _more(len(names) - most)


def _more(count: int) -> str:
    return f" (+{count})" if count > 0 else ""
