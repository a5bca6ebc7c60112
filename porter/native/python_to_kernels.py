"""Which Python of a project ends in which of its own CUDA kernels."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from porter.engine.native_code import Builds, Native, NativeCode, nearest
from porter.files.paths import SIDE
from porter.native import kernels
from porter.native.builders import BUILDER
from porter.native.extensions import EITHER, Extension
from porter.native.kernels import PLAIN, Exported, Reached
from porter.native.other_ways import goes_on, spare_lines
from porter.native.unbuilt import linked, unbuilt
from porter.native.uses import OPS, uses
from porter.python.evidence import call_name
from porter.python.kept import Remember, anew
from porter.python.trees import Parse
from porter.python.walks import children

_SHOWN, _PLACES = 3, 5
Homes = Mapping[str, Mapping[str, dict[str, Reached]]]  # module -> the folder that builds it -> name -> what it ends in


def gather(
    root: Path,
    files: Sequence[str],
    texts: Mapping[str, bytes],
    parse: Parse,
    kept: Remember = anew,
) -> NativeCode:
    """What the project exports to Python, and what becomes of the Python that calls it. `kept`: what an earlier run made of the
    same bytes."""
    sources = kernels.sources_of(root, files)
    exported = any(b"__global__" in data for data in sources.values()) and kernels.binds(sources, texts)
    if not exported and not any(b"__global__" in data and b"load_inline" in data for data in texts.values()):
        return NativeCode()
    built = kernels.built_by(texts, parse, kept)
    known = kernels.exported(sources, built, kept) if exported else Exported({}, {}, {})
    for extension in built:
        for name, ends in kernels.inline(extension).items():
            known.add(extension.module, extension.folder, name, ends)
    reached, apart = known.reached, _apart(known)
    own = tuple(
        (folder, native)
        for module in sorted(apart)
        for folder, names in sorted(apart[module].items())
        for native in _natives(module, names)
    )
    alone = (native for module in reached if module not in apart for native in _natives(module, reached[module]))
    natives = tuple(sorted({*alone, *(native for _, native in own)}))
    modules = {native.module for native in natives if not native.module.startswith(OPS)}
    for_cuda = [extension for extension in built if extension.builder.endswith("CUDAExtension")]
    modules |= {extension.module for extension in for_cuda}
    either = {e.module for e in built if e.builder == EITHER} - {e.module for e in built if e.builder != EITHER}
    dying = _dying(reached, apart, texts, parse, either)
    going = dying.going
    left = unbuilt(root, files, sources, built, texts)
    built_only = tuple(sorted(filter(_only_built(texts), modules)))
    plain, mixed = tuple(sorted(either)), _mixed(built, known)
    return NativeCode(
        natives, dying.callers, built_only, dying.spared, unbuilt=left, applied=dying.applied, plain=plain,
        linked=linked(sources, built), asked=_asked_for(built, going),
        taken=tuple(sorted({path for path, _ in going} - {path for (path, _), goes in going.items() if not goes})),
        built=Builds(
            tuple(sorted({e.folder for e in for_cuda if e.folder and e.builder != EITHER})), own, mixed,
            tuple(sorted({(e.bound, e.module) for e in built if e.bound and e.bound != e.module})),
            _stopping({*built_only} - either - {name for name, _, _ in mixed}, texts), dying.standing_in,
        ),
    )  # fmt: skip


def _mixed(built: Sequence[Extension], known: Exported) -> tuple[tuple[str, str, bool], ...]:
    """(module, folder, whether it is built of CUDA sources) of modules that are so in one folder and not in another."""
    ways: dict[str, dict[str, bool]] = {}
    for extension in built:
        folders = ways.setdefault(extension.module, {})
        for_cuda = extension.builder != PLAIN or extension.folder in known.homes.get(extension.module, {})
        folders[extension.folder] = folders.get(extension.folder, False) or for_cuda
    mixed = ((module, folders) for module, folders in sorted(ways.items()) if len(set(folders.values())) > 1)
    return tuple(
        (module, folder, for_cuda) for module, folders in mixed for folder, for_cuda in sorted(folders.items())
    )


def _natives(module: str, names: Mapping[str, Reached]) -> Iterator[Native]:
    for name, ends in sorted(names.items()):
        yield Native(module, name, _shown(list(ends), _SHOWN), next(iter(ends.values())))


def _apart(known: Exported) -> Homes:
    """The modules that several folders build. An operator of the dispatcher has one name for all."""
    return {module: homes for module, homes in known.homes.items() if len(homes) > 1 and not module.startswith(OPS)}


def _near(reached: dict[str, dict[str, Reached]], apart: Homes, path: str) -> dict[str, dict[str, Reached]]:
    """What the modules export that a file means: of those that several folders build, those of the nearest above it."""
    folders = {module: nearest(homes, path) for module, homes in apart.items()}
    return reached | {module: apart[module][folder] for module, folder in folders.items() if folder is not None}


def _asked_for(built: Sequence[Extension], going: Mapping[tuple[str, str], bool]) -> tuple[str, ...]:
    """The functions that build extensions when the program runs, without all of which the files have another way."""
    asking: dict[str, bool] = {}
    for extension in built:
        if extension.builder not in ("", BUILDER) and not extension.builder.endswith("Extension"):
            word = extension.builder
            asking[word] = asking.get(word, True) and going.get((extension.path, extension.module), False)
    return tuple(sorted(word for word, every in asking.items() if every))


def _stopping(modules: Collection[str], texts: Mapping[str, bytes]) -> tuple[str, ...]:
    """The files that import such an extension in their first column."""
    if not modules:
        return ()
    words = sorted(module.encode() for module in modules)
    pattern = re.compile(rb"(?m)^(?:import|from)\b[^#\n]*\b(?:%s)\b" % b"|".join(map(re.escape, words)))
    return tuple(
        path for path in sorted(texts) if any(word in texts[path] for word in words) and pattern.search(texts[path])
    )


def _only_built(texts: Mapping[str, bytes]) -> Callable[[str], bool]:
    """Of a module, whether no Python file can be meant by its name, which is whole."""
    written = {path.removesuffix("/__init__.py").removesuffix(".py").rpartition("/")[2] for path in texts}
    return lambda module: module.isidentifier() and module not in written


def mentions(data: bytes, exports: Mapping[str, Mapping[str, object]]) -> bool:
    """Whether a file can use any of them: most cannot."""
    return any(
        module.removeprefix(OPS).strip("*").encode() in data and any(name.encode() in data for name in names)
        for module, names in exports.items()
    )


class _Dying(NamedTuple):
    """The Python that ends in kernels."""

    callers: tuple[tuple[str, str], ...]  # (source, the functions of Python that end in it)
    spared: tuple[str, ...]  # the sources without which all of them have another way
    standing_in: tuple[str, ...]  # those of `spared` that stand in for operators of torchvision
    applied: tuple[str, ...]  # the classes of torch.autograd.Function that end in one
    going: dict[tuple[str, str], bool]  # by (file, extension) whether the file has another way


def _dying(
    every: dict[str, dict[str, Reached]],
    apart: Homes,
    texts: Mapping[str, bytes],
    parse: Parse,
    plain: Collection[str],
) -> _Dying:
    """`plain`: the extensions that are there without CUDA too."""
    lost: dict[str, dict[tuple[str, str], None]] = {}
    stops, called, standing_in = set[str](), set[str](), set[str]()
    applied: set[str] = set()
    going: dict[tuple[str, str], bool] = {}
    for path in sorted(texts, key=lambda path: (SIDE.search(path) is not None, path)):
        reached = _near(every, apart, path) if apart else every
        tree = parse(texts[path]) if mentions(texts[path], reached) else None
        if tree is None:
            continue
        used = list(uses(tree, reached))
        functions = _functions(tree) if used else []
        applied |= _applied(tree, {node.lineno for node, _, _ in used}) if used else set()
        is_elsewhere = _elsewhere(texts, path)
        spare = spare_lines(tree, is_elsewhere) if used else set()
        for node, module, name in used:
            for source in reached[module][name].values():
                lost.setdefault(source, {})[path, _owner(functions, node.lineno)] = None
                (standing_in if node.lineno in spare else called).add(source)
        for module in {module for _, module, _ in used}:
            mine = [(node, name) for node, of, name in used if of == module and node.lineno not in spare]
            nodes = [node for node, _ in mine]
            going[path, module] = not nodes or goes_on(tree, module, nodes, is_elsewhere, module in plain)
            if not going[path, module]:
                stops |= {source for _, name in mine for source in reached[module][name].values()}
    callers = tuple(sorted((source, _places(list(places))) for source, places in lost.items()))
    alone = tuple(sorted(standing_in - called))
    return _Dying(callers, tuple(sorted(lost.keys() - stops)), alone, tuple(sorted(applied)), going)


def _applied(tree: ast.Module, lines: Collection[int]) -> set[str]:
    """The classes of torch.autograd.Function in a module's body that stand around one of these lines."""
    return {
        node.name
        for node in tree.body
        if isinstance(node, ast.ClassDef)
        and any(call_name(base) == "Function" for base in node.bases)
        and any(node.lineno <= line <= (node.end_lineno or line) for line in lines)
    }


def _elsewhere(texts: Mapping[str, bytes], path: str) -> Callable[[str], bool]:
    """Whether another file says a name that it has not defined itself, as copies of a file do."""

    def says(name: str) -> bool:
        word, own = rb"\b%s\b" % name.encode(), rb"(?m)^(?:def|class)[ \t]+%s\b" % name.encode()
        naming = (data for other, data in texts.items() if other != path and name.encode() in data)
        return any(re.search(word, data) and not re.search(own, data) for data in naming)

    return says


def _places(places: list[tuple[str, str]]) -> str:
    """ "a.py: f, g; b.py: h (+2)": functions by file."""
    files: dict[str, list[str]] = {}
    for path, name in places[:_PLACES]:
        files.setdefault(path, []).append(name)
    shown = (f"{path}: {', '.join(filter(None, names))}".removesuffix(": ") for path, names in files.items())
    return "; ".join(shown) + _more(len(places) - _PLACES)


def _functions(tree: ast.AST, head: str = "") -> list[tuple[int, int, str]]:
    functions = []
    for node in children(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            name = f"{head}.{node.name}".lstrip(".")
            functions += [(node.lineno, node.end_lineno or node.lineno, name), *_functions(node, name)]
        elif isinstance(node, (ast.If, ast.Try, ast.With)):
            functions += _functions(node, head)
    return functions


def _owner(functions: list[tuple[int, int, str]], line: int) -> str:
    """The innermost; they are in the order of their nesting."""
    return next((name for first, last, name in reversed(functions) if first <= line <= last), "")


def _shown(names: list[str], most: int) -> str:
    return ", ".join(names[:most]) + _more(len(names) - most)


def _more(count: int) -> str:
    return f" (+{count})" if count > 0 else ""
