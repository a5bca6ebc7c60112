"""Taking an import apart: some of its names move to another package, the rest stays as it is laid out."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from porter.checks.device import waiting
from porter.engine.nodes import as_last, chain, dotted
from porter.engine.rule import Hit, cst
from porter.engine.rule_file import Link, RuleFile
from porter.python.evidence import constant, target_name
from porter.regex import lazy
from porter.rulebook.table import Move

From: TypeAlias = Any  # a cst.ImportFrom without a star: its names are a list, each of them a plain cst.Name
Alias: TypeAlias = Any  # one of these names

_MODULES = (("", "torch.cuda"), ("torch", "cuda"))
_COMMENT = lazy(r"#[^\r\n]*")


def split(node: From, moved: Mapping[int, Alias], module: str) -> tuple[cst.ImportFrom, str]:
    """`node` without the names at the indices `moved`, and the import of those from `module`, which goes below it."""
    code = cst.Module([]).code_for_node
    notes = "".join(f"  {note}" for index in moved for note in comments(node.names[index]))
    kept = [alias for index, alias in enumerate(node.names) if index not in moved]
    comma, end_comma = kept[-1].comma, node.names[-1].comma
    if not node.lpar:
        comma = cst.MaybeSentinel.DEFAULT
    elif len(node.names) - 1 in moved:  # the bracket stays where it was
        comma = as_last(comma, end_comma)
    kept[-1] = kept[-1].with_changes(comma=comma)
    names = [alias.with_changes(comma=cst.MaybeSentinel.DEFAULT) for alias in moved.values()]
    return node.with_changes(names=kept), code(cst.ImportFrom(module=dotted(module), names=names)) + notes


def comments(node: cst.CSTNode) -> list[str]:
    return _COMMENT.findall(cst.Module([]).code_for_node(node))


def renamed(alias: Alias, name: str) -> Alias:
    """The alias of another name that is still bound under the old one."""
    if alias.name.value == name:
        return alias
    asname = alias.asname or cst.AsName(cst.Name(alias.name.value))
    return alias.with_changes(name=cst.Name(name), asname=asname)


def package_of(module: str, file: RuleFile) -> str | None:
    """torch.cuda.amp -> torch_npu.npu.amp, where that can be imported."""
    new = file.target.package + module.removeprefix("torch.cuda")
    return new if file.session.has(new) else None


def home_of(node: From, module: str, moves: Mapping[str, Move], file: RuleFile) -> str:
    """The package with the counterparts of all names of an import from a private one, where it has another name; "" for none. What
    stands elsewhere of a public one is another interface."""
    names: Any = node.names if module.rpartition(".")[2].startswith("_") else ()
    new = {(counterpart(f"{module}.{alias.name.value}", moves, file) or "").rpartition(".")[0] for alias in names}
    return new.pop() if len(new) == 1 else ""


def counterpart(full: str, moves: Mapping[str, Move], file: RuleFile) -> str | None:
    """Of a name or submodule of torch.cuda, below the package that can be imported from."""
    move = moves.get(full)
    if move is None:  # a submodule
        return package_of(full, file)
    new = f"{file.target.package}.{move.tail}" if move.tail else None
    return new if new and file.session.has(new) else None


def lacking(node: cst.Import | From, names: list[str], moves: Mapping[str, Move], file: RuleFile) -> Hit:
    """What torch_npu lacks. Where torch has it, the import itself does not fail without a GPU."""
    values = (("names", ", ".join(names)),)
    if file.imported.import_guard() == "try" and _is_unknown_to_torch(names, file):
        return Hit(node, "caught", values=values)
    idle = all(name in moves for name in names) and not is_used(node, file)
    return Hit(node, "idle" if idle else "missing", values=values)


def lacks_all(node: cst.Import | From, moves: Mapping[str, Move], file: RuleFile) -> bool:
    """Whether a file reads nothing of the torch.cuda that an import binds but names without a counterpart. They are answered where
    they stand; of torch_npu's module they would be missing, also those that only say without CUDA that there is none."""
    if isinstance(node.names, cst.ImportStar):
        return False
    module = "" if isinstance(node, cst.Import) else ".".join(chain(node.module)) if node.module else ""
    bound = [
        chain(alias.asname.name)[0] if alias.asname else "cuda"
        for alias in node.names
        if (module, ".".join(chain(alias.name))) in _MODULES and (alias.asname or module)
    ]
    if len(bound) != 1 or not module and len(node.names) != 1 or file.path.endswith("__init__.py"):
        return False
    uses = [use for use in file.names.spelled(bound[0]) if use[0].__class__ is ast.Name]
    return bool(uses) and not _is_handed_on(bound, file) and all(_is_lacking(use, moves, file) for use in uses)


def _is_lacking(use: Link, moves: Mapping[str, Move], file: RuleFile) -> bool:
    read = waiting.moves_of(use, moves, file) if file.names.resolve(use[0], use) == "torch.cuda" else iter(())
    move, link = next(read, (None, use))
    return move is not None and move.tail is None and not move.stays and link[0].ctx.__class__ is ast.Load


def _is_unknown_to_torch(names: Iterable[str], file: RuleFile) -> bool:
    """Whether the torch of the target lacks them, too: then the import fails there as it does beside an older CUDA's torch."""
    return all(file.session.support.catalogue.surface.has(name) is False for name in names)


def is_used(node: cst.Import | From, file: RuleFile, indices: Iterable[int] | None = None) -> bool:
    """Whether the file says a name that an import binds; one of a package is there for others. `indices`: of the names."""
    if isinstance(node.names, cst.ImportStar) or file.path.endswith("__init__.py"):
        return True
    aliases = node.names if indices is None else [node.names[index] for index in indices]
    names = [chain(alias.asname.name if alias.asname else alias.name)[0] for alias in aliases]
    return any(file.names.spelled(name) for name in names) or _is_handed_on(names, file)


def _is_handed_on(names: Iterable[str], file: RuleFile) -> bool:
    """Whether `__all__` has one of the names, or is no plain list."""
    if not file.source.says(b"__all__"):
        return False
    lists = [n for n in file.tree.body if isinstance(n, ast.Assign) and target_name(n.targets[0]) == "__all__"]
    listed = [constant(element) for n in lists for element in getattr(n.value, "elts", (None,))]
    is_plain = file.source.utf8.count(b"__all__") == len(lists) and all(isinstance(name, str) for name in listed)
    return not is_plain or not set(names).isdisjoint(listed)


def from_torch(original: From, updated: From, moves: Mapping[str, Move], file: RuleFile) -> Hit | None:
    """`from torch import cuda, nn`: the other names stay where they are."""
    index = next((i for i, a in enumerate(original.names) if a.name.value == "cuda"), None)
    if index is None:
        return None
    module, _, name = file.target.package.rpartition(".")
    alias, called = renamed(updated.names[index], name), original.names[index].asname
    safe = not waiting.imported(chain(called.name)[0] if called else "cuda", moves, file)
    if len(updated.names) == 1:
        new = updated.with_changes(module=dotted(module), names=[alias])
        return Hit(original, "from-torch", new=new, safe=safe)
    kept, after = split(updated, {index: alias}, module)
    return Hit(original, "from-torch", new=kept, safe=safe, after=(after,))
