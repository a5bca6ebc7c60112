"""Requirements of packages for GPUs: those that nothing in the project needs on a device, and those whose users are told more."""

from __future__ import annotations

from collections.abc import Container, Set

from porter.engine.rule import Hit, named
from porter.regex import lazy
from porter.rulebook.table import Package, any_of, goes_with
from porter.text.document import Document

_BY_IMPORTS = lazy(rf"(?:{any_of('package-used-by-imports')})")


def nobodys(document: Document, name: str, row: Package) -> bool:
    """Whether nothing has to be said of a requirement. Its package goes with the target's torch; or it installs anywhere, and each of
    its imports stands in no file, or needs no device in the files of this list."""
    lists = document.session.facts.lists
    if goes_with(row, document.session.target.torch, lists, document.path):
        return True
    if not _installs_anywhere(name, row):
        return False
    return _may_go(document, row, lists.unneeded)


def _is_unimported(document: Document, name: str, row: Package) -> bool:
    """Whether no file of the project imports a package that nothing else loads, as libraries load kernels of attention."""
    return row.code == "PRT401" and _BY_IMPORTS.fullmatch(name) is not None and _may_go(document, row)


def _may_go(document: Document, row: Package, unneeded: Container[tuple[str, str]] = ()) -> bool:
    """Whether no file imports what this row's packages bring. `unneeded`: (import, list) of those that files need on no device."""
    rows, unimported = document.session.rules.tables.packages, document.session.facts.lists.unimported
    return all(
        imported in unimported or (imported, document.path) in unneeded
        for imported, other in rows.items()
        if other.names == row.names
    )


def _installs_anywhere(name: str, row: Package) -> bool:
    """Whether a package installs without a GPU, and does nothing until it is imported."""
    return name in {other.lower().replace("_", "-") for other in row.anywhere}


def _beside_users(name: str, spec: str, optional: bool, row: Package) -> str:
    """The message for a requirement of a package that files import, where these files are told what to write; else ""."""
    if not row.why or row.code != "PRT401" or row.severity == "note":
        return ""
    if row.status == "plugin":
        return "beside" if row.replacement else ""
    if optional:
        return "extra"
    return "harmless" if _installs_anywhere(name, row) and "cu" not in spec else "listed"


def listed(
    document: Document,
    at: tuple[int, int],
    name: str,
    imported: str,
    row: Package,
    spec: str = "",
    optional: bool = False,
) -> Hit | None:
    """What is said of a package that files of the project import, which have the row's own words; and of one that none does."""
    lists = document.session.facts.lists
    users = lists.users(imported, document.path)
    why = _beside_users(name, spec, optional, row) if users else ""
    if not why and row.why and _is_unimported(document, name, row):
        return Hit(at, "unimported", code=row.code, values=named(name=name), severity=row.severity)
    if not why:
        return None
    values = named(name=name, importers=users, new=", ".join(row.replacement), package=row.known_as[0])
    # who leaves its extra out is not stopped by it
    weight = "note" if why == "extra" else dict(lists.gravest).get(imported, row.severity)
    return Hit(at, why, code=row.code, values=values, severity=weight)


def without(document: Document, imported: str, row: Package, names: Set[str]) -> str:
    """Why a build for GPUs under a name of its own may go: nobody imports its module, or the list has the plain one as well."""
    if imported in document.session.facts.lists.unimported:
        return "nobodys"
    return "" if names.isdisjoint(row.replacement) else "beside-plain"
