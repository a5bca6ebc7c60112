"""The fact file of a library: which of its functions and modules cannot do their work on NPUs, and what breaks each."""

from __future__ import annotations

import json
from pathlib import Path

from porter import __version__
from porter.analysis.python import look
from porter.engine.session import Session
from porter.errors import Unreadable
from porter.files.documents import Json
from porter.python.source import Source
from porter.reach.body import End, Steps
from porter.reach.compiled import Natives
from porter.reach.known import target_of
from porter.reach.library import CLASS, FUNCTION, Library, Symbol
from porter.reach.reading import Reading
from porter.reach.ways import solve, sometimes
from porter.regex import lazy

LAYOUT = 2
_GRADIENT = frozenset({"forward", "backward", "symbolic", "setup_context"})  # which `apply` calls
_ASIDE = lazy(r"(?:^|\.)(?:tests?|testing|benchmarks?|examples?|setup|conftest)(?:\.|$)|(?:^|\.)test_")


def make(folder: Path, session: Session) -> Json:
    """Analyse a package, and say what stands in the fact file."""
    library = Library(folder)
    natives = Natives(folder, library.package.compiled)
    library.extensions = natives.extensions
    steps: dict[str, Steps] = {}
    for module in sorted(library.package.files):
        if not _ASIDE.search(module):
            steps.update(_steps(module, library, natives, session))
    for module in sorted(library.package.files):  # `import a.b.c` runs a and a.b as well
        above = module.rpartition(".")[0]
        if above and f"{module}:" in steps:
            steps[f"{module}:"].insert(0, f"{above}:")
    ways = solve(steps)
    perhaps = sometimes(steps, ways)
    kernels = {
        key for key, (way, end) in ways.items() if end.verdict == "triton" and len(way) == 1
    }  # nobody calls these
    modules = {key[:-1]: _entry(*ways[key], library) for key in sorted(ways) if key.endswith(":")}
    public = sorted(_public(library, kernels).items())
    functions = {name: _entry(*ways[key], library) for name, key in public if key in ways}
    functions |= {
        name: _entry(*perhaps[key][0], library) | {"when": perhaps[key][1]} for name, key in public if key in perhaps
    }
    known = sum(not key.endswith(":") and "<locals>" not in key for key in steps)
    return {
        "layout": LAYOUT,
        "porter": __version__,
        "library": library.package.name,
        "version": library.package.version,
        "target": target_of(session.target),
        "read": {"modules": len(library.package.files), "functions": known},
        "modules": modules,
        "functions": functions,
    }


def render(facts: Json) -> str:
    return json.dumps(facts, indent=1, ensure_ascii=False) + "\n"


def _steps(module: str, library: Library, natives: Natives, session: Session) -> dict[str, Steps]:
    try:
        source = Source(library.package.data(module))
        analysis = look(library.package.files[module], source, session)
        return Reading(module, analysis, library, natives).read()
    except (Unreadable, RecursionError, OSError):
        return {}


def _public(library: Library, kernels: set[str]) -> dict[str, str]:
    """Full names that a program may use: of the module that defines a thing, and of every one that hands it on."""
    names: dict[str, str] = {}
    for module in sorted(library.package.files):
        if _ASIDE.search(module):
            continue
        for name in library.reader.module(module).names:
            symbol = library.find(f"{module}.{name}")
            if (
                symbol is None
                or not library.package.is_package(module)
                and symbol.module != module
                and symbol.kind != "apply"
            ):
                continue
            full = f"{module}.{name}"
            if symbol.kind in (FUNCTION, CLASS) and symbol.key not in kernels:
                names[full] = symbol.key
            elif symbol.kind == "apply" and (forward := library.member(symbol._replace(kind=CLASS), "forward")):
                names[full] = forward.key
            if symbol.kind == CLASS:
                names.update(_methods(library, symbol, full))
    return names


def _methods(library: Library, owner: Symbol, full: str) -> dict[str, str]:
    """`C.apply`, `C.from_x()`: methods that are called through the class."""
    keys = {}
    for name in ("apply", *sorted(library.members(owner))):
        member = library.member(owner, name)
        if member is not None and member.kind == "apply":
            if forward := library.member(owner, "forward"):
                keys[f"{full}.apply"] = forward.key
        elif member is not None and library.is_static(member) and name not in _GRADIENT:
            keys[f"{full}.{name}"] = member.key
    return keys


def _entry(way: tuple[str, ...], end: End, library: Library) -> Json:
    module = way[-1].partition(":")[0]
    entry = {"verdict": end.verdict, "end": end.name}
    if end.code:
        entry["code"] = end.code
    return {
        **entry,
        "chain": [*(key.replace(":", ".").rstrip(".").replace(".<locals>", "") for key in way), end.name],
        "place": f"{library.package.files[module]}:{end.line}",
    }
