"""`from torch._six import inf, string_classes`: gone since torch 2.0, which is older than every target."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from porter.checks.device.import_parts import Alias, renamed
from porter.engine.nodes import chain, dotted
from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile

_MODULE = "torch._six"
_MOVED = {"inf": ("math", "inf"), "nan": ("math", "nan"), "container_abcs": ("collections", "abc")}
_VALUES = {"string_classes": "(str, bytes)", "int_classes": "int", "PY3": "True", "PY37": "True"}
_READ = {"inf": "torch.inf", "nan": "torch.nan", **_VALUES}  # of what stood behind a dot


class TorchSix(Rule):
    code = "PRT704"
    nodes = ("Import", "ImportFrom")
    prefixes = {_MODULE}
    text = r"\btorch\._six\b"

    def visit(
        self, original: cst.Attribute | cst.Name | cst.Import | cst.ImportFrom, updated: Any, file: RuleFile
    ) -> Answer:
        if isinstance(original, (cst.Import, cst.ImportFrom)):
            if file.imported.import_guard() or file.imported.asked_first() and not file.imported.chosen_by_version():
                return None
            return self._module(original, updated) if isinstance(original, cst.Import) else self._names(original)
        return self._mention(original)

    @staticmethod
    def _mention(original: cst.BaseExpression) -> Hit | None:
        if not isinstance(original, cst.Attribute) or chain(original)[:2] != ["torch", "_six"]:
            return None  # the import answers for its names
        name = original.attr.value
        new = cst.parse_expression(_READ[name]) if name in _READ else None
        return Hit(original, "default", new=new, safe=True, values=(("name", f"{_MODULE}.{name}"),))

    @staticmethod
    def _module(original: cst.Import, updated: cst.Import) -> Hit | None:
        """`import torch._six` binds `torch`."""
        if not any(".".join(chain(alias.name)) == _MODULE for alias in original.names):
            return None
        names = [
            alias.with_changes(name=cst.Name("torch"))
            if ".".join(chain(alias.name)) == _MODULE and alias.asname is None
            else alias
            for alias in updated.names
        ]
        bound = all(".".join(chain(alias.name)) != _MODULE for alias in names)
        new = updated.with_changes(names=names) if bound else None
        return Hit(original, "default", new=new, safe=True, values=(("name", _MODULE),))

    @staticmethod
    def _names(original: cst.ImportFrom) -> Hit | None:
        if original.relative or original.module is None or ".".join(chain(original.module)) != _MODULE:
            return None
        if isinstance(original.names, cst.ImportStar):
            return Hit(original, "default", values=(("name", f"{_MODULE}.*"),))
        names = ", ".join(f"{_MODULE}.{alias.name.value}" for alias in original.names)
        lines = _lines(original.names)
        if lines is None:
            return Hit(original, "default", values=(("name", names),))
        first, *others = lines
        parsed: Any = cst.parse_statement(first)
        new = parsed.body[0]
        return Hit(original, "default", new=new, safe=True, after=tuple(others), values=(("name", names),))


def _lines(aliases: Iterable[Alias]) -> list[str] | None:
    """What says the same without torch._six, a statement for each package and each value; None where a name has no
    successor."""
    moved: dict[str, list[Alias]] = {}
    values: list[str] = []
    for alias in aliases:
        name, bound = alias.name.value, alias.asname.name.value if alias.asname else alias.name.value
        if name in _MOVED:
            package, new = _MOVED[name]
            moved.setdefault(package, []).append(renamed(alias, new).with_changes(comma=cst.MaybeSentinel.DEFAULT))
        elif name in _VALUES:
            values.append(f"{bound} = {_VALUES[name]}")
        else:
            return None
    code = cst.Module([]).code_for_node
    imports = [code(cst.ImportFrom(module=dotted(package), names=names)) for package, names in moved.items()]
    return [*imports, *values]
