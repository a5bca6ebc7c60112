"""Arguments that the other side calls something else (`get_device_name(device=0)`), has elsewhere, or lacks; and stars
that may hide one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from porter.engine.rule import Hit, Rule, cst
from porter.engine.rule_file import RuleFile
from porter.rulebook.table import Tables


class CudaParameters(Rule):
    code = "PRT107"

    def __init__(self, tables: Tables) -> None:
        self.parameters, self.moves = tables.parameters, tables.moves
        self.calls = frozenset(tables.parameters)

    def visit(self, original: cst.Call, updated: cst.Call, file: RuleFile) -> Iterator[Hit]:
        name = file.name(original.func) or ""
        row, args = self.parameters[name], original.args
        weight: dict[str, Any] = {"code": row.code, "severity": row.severity, "effort": row.effort}
        given = [a.keyword.value for a in args if a.keyword is not None]
        starred = any(a.star for a in args)
        move = self.moves.get(name)
        target = f"{file.target.namespace}.{move.tail}" if move is not None and move.tail else ""
        if target and not file.session.has(target):
            return  # the call stays as it is, and PRT104 says why
        # what one version lacks, the next may have
        takes = file.session.catalogue.parameters(target) or ()
        missing = [word for word in given if word in row.remove and word not in takes]
        renamed = [word for word in given if word in row.rename and word not in takes]
        if renamed:
            safe = row.fix == "safe" and not any(a.star == "**" for a in args)
            new = None
            if row.fix is not None and not any(row.rename[word] in given for word in renamed):
                new = updated.with_changes(args=[self._renamed(arg, row.rename) for arg in updated.args])
            if not file.style.one_world:  # what both sides take has no name
                new, safe = self._unnamed(updated, row.rename), safe and len(args) == 1
            old, to = ", ".join(renamed), ", ".join(row.rename[word] for word in renamed)
            values = (("name", name), ("old", old), ("new", to))
            yield Hit(original, row.why, new=new, safe=safe, values=values, **weight)
        if missing:
            yield Hit(original, "removed", values=(("name", name), ("old", ", ".join(missing))), code="PRT107")
        if row.positional is not None and sum(a.keyword is None and not a.star for a in args) > row.positional:
            yield Hit(original, "positional", values=(("name", name), ("count", str(row.positional))), code="PRT107")
        elif starred and not renamed and not missing:
            words = ", ".join(sorted({*row.rename, *row.remove}))
            if words:
                yield Hit(original, "starred", values=(("name", name), ("old", words)), code="PRT107")

    @staticmethod
    def _unnamed(call: cst.Call, words: dict[str, str]) -> cst.Call | None:
        """The only argument, given by its place."""
        [first, *others] = call.args
        if others or first.keyword is None or first.keyword.value not in words:
            return None
        return call.with_changes(args=[first.with_changes(keyword=None, equal=cst.MaybeSentinel.DEFAULT)])

    @staticmethod
    def _renamed(arg: cst.Arg, words: dict[str, str]) -> cst.Arg:
        if arg.keyword is None or arg.keyword.value not in words:
            return arg
        return arg.with_changes(keyword=arg.keyword.with_changes(value=words[arg.keyword.value]))
