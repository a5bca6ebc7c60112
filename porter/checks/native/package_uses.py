"""What a file uses of a package that it imports."""

from __future__ import annotations

import ast

from porter.engine.rule_file import Link, RuleFile
from porter.python.blocks import once_for_file
from porter.python.index import FUNCTIONS, ancestors, methods
from porter.python.uses import imports_of, is_idle, uses

SHOWN = 4
_DEVICES = frozenset({"device", "device_type"})
_NO_DEVICE = ("use_prefetcher", False)  # of timm's loaders: batches stay on the host
_BEFORE_REDUCE = 5  # arguments of torch_scatter's `scatter`
_SUMS = frozenset({"add", "mean", "sum"})


def idle(package: str, file: RuleFile) -> str | None:
    """Where nothing of an imported package is used: in how many more files it is the same; "" where another file says so."""
    known = next((row for row in file.facts.lists.idle if row[0] == package), None)
    if (
        known is None
        or not known[2]
        or not file.path.endswith(".py")
        or not is_idle(file.source.utf8, package.encode())
    ):
        return None
    return str(known[2]) if known[1] == file.path else ""


def called(file: RuleFile, package: str, apart: tuple[str, ...]) -> str:
    """What of a package, `apart` from some parts, is called in a file, the most often called first."""
    counts: dict[str, int] = {}
    for full, is_called in _uses(file):
        if is_called and f"{full}.".startswith(f"{package}.") and not f"{full}.".startswith(apart):
            name = full.removeprefix(f"{package}.").removesuffix(".__init__").rpartition(".")[2]
            counts[name] = counts.get(name, 0) + 1
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    shown = [f"{name} ×{count}" if count > 1 else name for name, count in ordered[:SHOWN]]
    return ", ".join(shown) + (f" (+{len(ordered) - SHOWN})" if len(ordered) > SHOWN else "")


def reached(file: RuleFile, part: str) -> bool:
    """Whether a part of a package is used, and imported by nothing but the package."""
    return not imports_of(file, part) and any(f"{full}.".startswith(f"{part}.") for full, _ in _uses(file))


def only_parts(file: RuleFile, package: str, apart: tuple[str, ...]) -> bool:
    """Whether a file uses nothing of a package but some parts, which have rows of their own."""
    used = [full for full, _ in _uses(file) if f"{full}.".startswith(f"{package}.")]
    return bool(used) and all(f"{full}.".startswith(apart) for full in used)


def only_asked_for(file: RuleFile, package: str) -> bool:
    """Whether a file imports the package and no part of it, and at most reads which version is there, and where."""
    imports = imports_of(file, package)
    whole = all(
        isinstance(n, ast.Import) and not any(a.name.startswith(f"{package}.") for a in n.names) for n, _ in imports
    )
    used = (full for full, _ in _uses(file) if f"{full}.".startswith(f"{package}."))
    return bool(imports) and whole and all(full.startswith(f"{package}.__") for full in used)


def uses_as_they_are(file: RuleFile, package: str, method: str) -> bool:
    """Whether a class is used otherwise than as the base of one that has its own `method`, and to say what a value is."""
    mentions = file.meaning.mentions.of(frozenset({package}))
    return not mentions or not all(
        link[1][0].__class__ is ast.ClassDef
        and link[0] in link[1][0].bases
        and method in methods(link[1][0])
        or _is_annotation(link)
        for link in mentions
    )


def _is_annotation(link: Link) -> bool:
    """Whether a name only says what a value is: `mixup: Optional[Mixup] = None`."""
    child = link[0]
    for above, _ in ancestors(link):
        if above.__class__ in (ast.arg, ast.AnnAssign):
            return child is above.annotation
        if above.__class__ in FUNCTIONS[:2]:
            return child is above.returns
        if isinstance(above, ast.stmt):
            return False
        child = above
    return False


def called_bare(file: RuleFile, package: str) -> bool:
    """Whether a function is called with nothing in the parentheses."""
    calls = (link[1][0] for link in file.meaning.mentions.of(frozenset({package})))
    return any(call.__class__ is ast.Call and not call.args and not call.keywords for call in calls)


def joins_by_kernels(file: RuleFile, package: str) -> bool:
    """Whether torch_scatter's function `scatter`, which sums unless `reduce` says another way, may be told one that has operators of
    its own: sums and means are plain torch."""
    return any(
        not use.called
        or use.starred
        or use.positionals > _BEFORE_REDUCE
        or dict(use.keywords).get("reduce", "sum") not in _SUMS
        for use in uses(file, package)
    )


def untold(file: RuleFile, function: str, position: int) -> bool:
    """Whether a function that takes a device at `position` is called without one, or is not seen to be called."""
    calls = [use for use in uses(file, function) if use.called]
    told = (
        use.positionals > position
        or use.starred
        or _NO_DEVICE in use.keywords
        or any(name in _DEVICES for name, _ in use.keywords)
        for use in calls
    )
    return not calls or not all(told)


@once_for_file
def _uses(file: RuleFile) -> list[tuple[str, bool]]:
    """What is imported and used, by its full name, and whether it is called."""
    found = []
    for link in file.names.uses:
        if link[0].id in file.names.imports:
            full, top, above = file.names.root(link[0].id, link) or "", *link
            while isinstance(above[0], ast.Attribute):
                full, top, above = f"{full}.{above[0].attr}", above[0], above[1]
            found.append((full, isinstance(above[0], ast.Call) and above[0].func is top))
    return found
