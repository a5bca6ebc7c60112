"""`try: import apex` with a handler that only prints: nothing in the file knows whether apex is there."""

from __future__ import annotations

import ast

from porter.checks.apex.counterparts import CONVERT
from porter.engine.rule_file import Link, RuleFile
from porter.python.blocks import once_for_file
from porter.python.guards import guard
from porter.python.index import ancestors, chain_of


def left_unbound(link: Link | None, file: RuleFile) -> bool:
    """Whether a name of apex is used, outside of any `try` and any question of its own, that may not be bound."""
    name = link[0].id if link else ""
    bound = file.names.imports.get(name, [])
    if link is None or not bound or name in file.names.others:
        return False
    return all(_is_forgotten(statement) for _, statement in bound) and guard(link) is None


def has_other_way(link: Link | None) -> bool:
    """Whether a condition chooses between it and something else."""
    return any(above.__class__ in (ast.If, ast.IfExp) and above.orelse for above, _ in ancestors(link))


@once_for_file
def stops_unbound(file: RuleFile) -> bool:
    """Whether any name of apex is used so, and will be once the edits are made."""
    return any(left_unbound(link, file) for link in _uses(file) if not _is_rewritten(link, file))


@once_for_file
def leaves_nothing(file: RuleFile) -> bool:
    """Whether the edits write every use of apex anew."""
    uses = _uses(file)
    return bool(uses) and all(_is_rewritten(link, file) for link in uses)


def stands_beside_calls(names: list[str], file: RuleFile) -> bool:
    """Whether an import of these names stands in a function that calls what it brings: it stops no program that does not come
    to them."""
    link = file.scene.link_to(file.statement)
    function = file.scene.function(link) if link is not None else None
    uses = (use for name in names for use in file.names.spelled(name)) if function is not None else ()
    around = (file.scene.function(use) for use in uses if isinstance(use[1][0], ast.Attribute))
    return function is not None and any(above is not None and above[0] is function[0] for above in around)


def _uses(file: RuleFile) -> list[Link]:
    apex = {
        name for name, bound in file.names.imports.items() if any(full.split(".")[0] == "apex" for full, _ in bound)
    }
    return [link for link in file.names.uses if link[0].id in apex]


def _is_rewritten(link: Link, file: RuleFile) -> bool:
    """Whether PRT353 writes the call anew, so that apex is not said there any more."""
    whole = chain_of(link)
    return file.names.resolve(whole[0], whole) == CONVERT and file.undisturbed(("PRT353",))


def _is_forgotten(statement: Link) -> bool:
    """The `try` holds imports alone, and what catches them sets no flag and no name."""
    block = next((above for above, _ in ancestors(statement) if above.__class__ is ast.Try), None)
    if block is None or block.orelse or block.finalbody:
        return False
    imports = all(part.__class__ in (ast.Import, ast.ImportFrom) for part in block.body)
    caught = (part for handler in block.handlers for part in handler.body)
    return imports and all(part.__class__ in (ast.Expr, ast.Pass) for part in caught)
