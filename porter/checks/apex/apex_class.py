"""Calls of apex's optimisers, layers and wrappers: arguments that torch does not have, and defaults that differ."""

from __future__ import annotations

from dataclasses import replace

from porter.checks.apex.counterparts import CONVERT, COUNTERPARTS, Counterpart, counterpart
from porter.checks.apex.left_unbound import has_other_way, left_unbound
from porter.engine.nodes import dotted, with_keyword, without_arguments
from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile

MANUAL = {f"apex.optimizers.{n}": "PRT351" for n in ("FusedLAMB", "FusedNovoGrad", "FusedMixedPrecisionLamb")}
MANUAL |= {"apex.parallel.LARC": "PRT353", "apex.parallel.LARC.LARC": "PRT353"}
_GROUP = "apex.parallel.create_syncbn_process_group"


class ApexClass(Rule):
    code = "PRT351"
    calls = frozenset({*COUNTERPARTS, *MANUAL, CONVERT, _GROUP})

    def codes_for(self, name: str) -> tuple[str, ...]:
        return (MANUAL.get(name) or (COUNTERPARTS[name].code if name in COUNTERPARTS else "PRT353"),)

    def visit(self, original: cst.Call, updated: cst.Call, file: RuleFile) -> Answer:
        if file.facts.own.has_package("apex", file.path):
            return None  # the project is apex itself: the import stays, and so does what it gives
        hit = self._hit(original, updated, file)
        chosen = hit and file.imported.optional(original.func) and has_other_way(file.link(original.func))
        return replace(hit, severity="note") if hit and chosen else hit

    def _hit(self, original: cst.Call, updated: cst.Call, file: RuleFile) -> Hit | None:
        full = file.name(original.func) or ""
        if file.imported.optional(original.func):
            unbound = left_unbound(file.link(original.func), file)
            if not unbound or "." not in file.text(original.func) and full != CONVERT:
                return None  # the program goes on without apex; its import says so
        values: tuple[tuple[str, str], ...] = (("name", full.rpartition(".")[2]),)
        if full == CONVERT:
            return self._convert(original, updated, file, values)
        if full == _GROUP:
            return Hit(original.func, "group", values=values, code="PRT353")
        if full in MANUAL:
            return Hit(original.func, "by-hand", values=values, code=MANUAL[full])
        entry = counterpart(file, full)
        if entry is None:
            return Hit(original.func, "arguments", values=values, code=COUNTERPARTS[full].code)
        values = (*values, ("new", f"{entry.module}.{entry.name}"))
        func = "." in file.text(original.func) and self._torch(original.func, file, f"{entry.module}.{entry.name}")
        if "." in file.text(original.func) and not func:
            return Hit(original.func, "arguments", values=values, code=entry.code)
        gone = {
            n
            for n, a in enumerate(original.args)
            if a.keyword and a.keyword.value in entry.dropped or _is_off(a, entry)
        }
        kept = without_arguments(original, updated, gone)
        if kept is None:  # a comment about an argument that torch's class does not have
            return Hit(original.func, "arguments", values=values, code=entry.code)
        args = self._args(original, kept, entry)
        if args is None and not func:
            return None  # the import says it all
        new = updated.with_changes(args=args or updated.args, **({"func": func} if func else {}))
        return Hit(original.func, "rewritten", new=new, values=values, code=entry.code)

    def _convert(
        self, original: cst.Call, updated: cst.Call, file: RuleFile, values: tuple[tuple[str, str], ...]
    ) -> Hit | None:
        func = self._torch(original.func, file, "torch.nn.SyncBatchNorm.convert_sync_batchnorm")
        plain = len(original.args) == 1 and not original.args[0].star and not original.args[0].keyword
        values = (*values, ("new", "torch.nn.SyncBatchNorm.convert_sync_batchnorm"))
        if func is None or not plain:
            return Hit(original.func, "arguments", values=values, code="PRT353")
        return Hit(original.func, "rewritten", new=updated.with_changes(func=func), values=values, code="PRT353")

    @staticmethod
    def _torch(node: cst.BaseExpression, file: RuleFile, name: str) -> cst.BaseExpression | None:
        """A chain through the name that torch has at that place."""
        torch = file.meaning.module_name(node, "torch")
        return dotted(torch + name.removeprefix("torch")) if torch else None

    @staticmethod
    def _args(original: cst.Call, kept: cst.Call, entry: Counterpart) -> list[cst.Arg] | None:
        """With what torch defaults differently; None where nothing changes. `kept`: without what torch does not know."""
        given = {a.keyword.value for a in original.args if a.keyword}
        keep = [_renamed(a, entry) for a in kept.args]
        order = ("normalized_shape", "eps") if "eps" in entry.added else ()
        count = sum(1 for a in original.args if a.keyword is None)
        written = {a.keyword.value for a in keep if a.keyword}
        missing = [n for n in entry.added if n not in written and n not in order[:count]]
        if len(keep) == len(original.args) and not missing and written == given:
            return None
        call = kept.with_changes(args=keep)
        for name in missing:
            call = with_keyword(call, name, cst.parse_expression(entry.added[name]))
        return [*call.args]


def _is_off(argument: cst.Arg, entry: Counterpart) -> bool:
    """Whether an argument that torch calls otherwise says False, which is torch's default."""
    is_renamed = argument.keyword is not None and argument.keyword.value in dict(entry.renamed)
    return is_renamed and isinstance(argument.value, cst.Name) and argument.value.value == "False"


def _renamed(argument: cst.Arg, entry: Counterpart) -> cst.Arg:
    new = dict(entry.renamed).get(argument.keyword.value) if argument.keyword is not None else None
    return argument.with_changes(keyword=cst.Name(new)) if new else argument
