"""Answers what stands around an import: above all, whether the program can run without it."""

from __future__ import annotations

import ast
import weakref
from typing import TYPE_CHECKING

from porter.python.guards import asked, guard
from porter.python.heads import head, is_below
from porter.python.index import Link, Node
from porter.python.torch_versions import chosen
from porter.python.uses import imports_of

if TYPE_CHECKING:
    from porter.python.file import File


class AroundImports:
    def __init__(self, file: File) -> None:
        self.file: File = weakref.proxy(file)  # weak, because the file holds this object

    def head(self) -> str | None:
        """What the module calls torch at the place where the portable style binds its names. None where they cannot be bound,
        or only below the statement that is walked."""
        found = head(self.file)
        return found.torch if found is not None and is_below(self.file, self.file.statement) else None

    def import_guard(self) -> str | None:
        """Why the program goes on if the import that is walked fails: "type-checking", "try", "if"; None where it stops."""
        return guard(self._statement())

    def asked_first(self) -> bool:
        """Whether the code asks for a version, a name or a package before it runs the import that is walked."""
        link = self._statement()
        return link is not None and asked(link)

    def chosen_by_version(self) -> bool:
        """Whether only a test of torch's version stands before the import that is walked, and the target's torch passes it."""
        link = self._statement()
        choice = link and chosen(self.file.names, link, self.file.target.torch)
        return choice is not None and not asked(choice) and guard(choice) is None

    def _statement(self) -> Link | None:
        return self.file.scene.link_to(self.file.statement)

    def speaks_for(self, package: str, apart: tuple[str, ...] = ()) -> str | None:
        """A file may import a package several times; one of the imports speaks for all. If it is the one that is walked:
        "needed", or "optional" where the program goes on without the package. Else None. Parts in `apart` do not count."""
        imports = imports_of(self.file, package, apart)
        first, role = self.file.names.once("spoken for", imports, lambda: _spokesman(imports, package))
        return role if first is not None and first[0] is self.file.statement else None

    def optional(self, node: Node) -> bool:
        """Whether the program goes on without the package that the first word of a chain comes from."""
        link = self.file.link(node)
        bound = self.file.names.imports.get(link[0].id, []) if link else []
        return bool(bound) and self.file.names.once(
            "optional", bound, lambda: all(guard(statement) for _, statement in bound)
        )


def _spokesman(imports: list[Link], package: str) -> tuple[Link | None, str]:
    """The import that speaks for all of them, and "optional" or "needed"."""
    guards = [(link, guard(link)) for link in imports]
    always = (link for link, why in guards if why is None and link[1][0].__class__ is ast.Module)
    if first := next((link for link in always if _is_whole(link[0], package)), None):
        return first, "needed"  # the file stops there, whatever others are guarded by
    optional = any(why in ("try", "if") for _, why in guards)
    runs = [(link, why in ("try", "if")) for link, why in guards if why != "type-checking"]
    return next((link for link, guarded in runs if guarded is optional), None), "optional" if optional else "needed"


def _is_whole(statement: Node, package: str) -> bool:
    """Whether an import is of the package itself: a part of it may do without a device."""
    if statement.__class__ is ast.ImportFrom:
        return bool(statement.module == package and not statement.level)
    return any(alias.name == package for alias in statement.names)
