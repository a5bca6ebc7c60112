"""`from torch._utils import _accumulate`: names that were torch's own, which programs took all the same, and that are gone."""

from __future__ import annotations

import ast
import re
from typing import Any

from porter.checks.device.import_parts import renamed, split
from porter.checks.support.names_that_went import gone
from porter.engine.nodes import chain, dotted
from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile
from porter.python.blocks import within
from porter.python.guards import asked, guard
from porter.python.index import ancestors
from porter.rulebook.table import Tables
from porter.versions import release


class RemovedNames(Rule):
    code = "PRT719"
    nodes = ("ImportFrom",)

    def __init__(self, tables: Tables) -> None:
        self._gone = {name: row for name, row in gone(tables).items() if row[0][0] == "torch"}
        self.references = frozenset(self._gone)
        modules = sorted({re.escape(name.rpartition(".")[0].removeprefix("torch.")) for name in self._gone})
        self.text = rf"\btorch\.(?:{'|'.join(modules)})[ \t]+import\b"

    def visit(self, original: cst.Attribute | cst.Name | cst.ImportFrom, updated: Any, file: RuleFile) -> Answer:
        if isinstance(original, cst.ImportFrom):
            return self._statement(original, updated, file)
        if not isinstance(original, cst.Attribute) or not file.around.is_read(original):
            return None  # the import answers for its names
        name = file.name(original) or ""
        if not self._is_gone(name, file) or file.imported.optional(original):
            return None
        return Hit(original, "default", values=(("name", name), ("new", self._instead(name))))

    def _is_gone(self, name: str, file: RuleFile) -> bool:
        return name in self._gone and release(file.session.catalogue.torch) >= release(self._gone[name][0][1])

    def _instead(self, name: str) -> str:
        return self._gone[name][-1][1]

    def _statement(self, original: cst.ImportFrom, updated: cst.ImportFrom, file: RuleFile) -> Hit | None:
        if original.relative or original.module is None or isinstance(original.names, cst.ImportStar):
            return None
        module = ".".join(chain(original.module))
        names = [f"{module}.{alias.name.value}" for alias in original.names]
        lost = {index: name for index, name in enumerate(names) if self._is_gone(name, file)}
        if not lost or self._goes_on(file) and not file.imported.chosen_by_version():
            return None
        values = (("name", "`, `".join(lost.values())), ("new", "`, `".join(map(self._instead, lost.values()))))
        moves = {index: self._instead(name) for index, name in lost.items() if self._gone[name][-1][0] == "moved"}
        targets = {new.rpartition(".")[0] for new in moves.values()}
        if len(targets) != 1 or len(moves) < len(lost):
            return Hit(original, "default", values=values)
        [target] = targets
        aliases: Any = updated.names
        moved = {index: renamed(aliases[index], new.rpartition(".")[2]) for index, new in moves.items()}
        if len(moved) == len(names):
            new = updated.with_changes(module=dotted(target), names=[*moved.values()])
            return Hit(original, "default", new=new, safe=True, values=values)
        kept, line = split(updated, moved, target)
        return Hit(original, "default", new=kept, safe=True, after=(line,), values=values)

    def _goes_on(self, file: RuleFile) -> bool:
        """Whether the program asks before it imports, or goes on without. What stands beside a `try` that fails is all there is."""
        link, child = file.scene.link_to(file.statement), file.statement
        for above in ancestors(link):
            block = above[0]
            if isinstance(block, ast.Try) and within(block, child, "handlers"):
                link = above if any(self._fails(s, file) for s in block.body) else link
            child = block
        return link is not None and (guard(link) is not None or asked(link))

    def _fails(self, statement: ast.stmt, file: RuleFile) -> bool:
        if not isinstance(statement, ast.ImportFrom) or statement.level:
            return False
        return any(self._is_gone(f"{statement.module}.{alias.name}", file) for alias in statement.names)
