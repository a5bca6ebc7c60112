"""`NCCL_BUFFSIZE` counts bytes, `HCCL_BUFFSIZE` MB: name and value change together, where the value stands beside the name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from porter.engine.nodes import quoted
from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile, Variable
from porter.rulebook.table import Tables
from porter.rulebook.variable_values import to_megabytes


class EnvironmentVariableUnit(Rule):
    code = "PRT802"
    spelled = True
    literals = {"variable"}
    nodes = ("Assign", "Call", "Arg", "Dict")

    def __init__(self, tables: Tables) -> None:
        self.rows = {name: row for name, row in tables.variables.items() if row.value == "bytes-to-mb"}
        self.text = tuple(rf"{name}\b" for name in sorted(self.rows))

    def visit(
        self, original: cst.BaseString | cst.Assign | cst.Call | cst.Arg | cst.Dict, updated: Any, file: RuleFile
    ) -> Answer:
        answers: dict[type, Callable[[Any, Any, RuleFile], Hit | None]]
        answers = {cst.Assign: self._assign, cst.Call: self._call, cst.Arg: self._arg, cst.Dict: self._dict}
        answer = answers.get(type(original))
        if answer is not None:
            return answer(original, updated, file)
        found = self._found(original, file)  # the name alone: whatever is done with the value counts in bytes
        return self._hit(original, found, None) if found and not to_megabytes(found.value) else None

    def _assign(self, original: cst.Assign, updated: Any, file: RuleFile) -> Hit | None:
        target = original.targets[0].target
        if len(original.targets) != 1 or not isinstance(target, cst.Subscript):
            return None
        key: Any = getattr(target.slice[0].slice, "value", None)
        if (found := self._found(key, file)) is None or not to_megabytes(found.value):
            return None
        new = updated.targets[0].target
        index = new.slice[0].slice.with_changes(value=self._renamed(new.slice[0].slice.value, found))
        new = new.with_changes(slice=[new.slice[0].with_changes(slice=index)])
        targets = [updated.targets[0].with_changes(target=new)]
        return self._hit(key, found, updated.with_changes(targets=targets, value=self._value(updated.value, found)))

    def _call(self, original: cst.Call, updated: cst.Call, file: RuleFile) -> Hit | None:
        """`os.environ.setdefault("NCCL_BUFFSIZE", "8388608")`."""
        found = self._found(original.args[0].value, file) if original.args else None
        if found is None or not to_megabytes(found.value):
            return None
        args: list[Any] = list(updated.args)
        args[0] = args[0].with_changes(value=self._renamed(args[0].value, found))
        args[1] = args[1].with_changes(value=self._value(args[1].value, found))
        return self._hit(original.args[0], found, updated.with_changes(args=args))

    def _arg(self, original: cst.Arg, updated: Any, file: RuleFile) -> Hit | None:
        """`dict(os.environ, NCCL_BUFFSIZE="8388608")`."""
        found = self._found(original, file)
        if found is None or found.role != "keyword":
            return None
        if not to_megabytes(found.value):
            return self._hit(original, found, None)
        keyword = updated.keyword.with_changes(value=self.rows[found.name].to)
        return self._hit(
            original, found, updated.with_changes(keyword=keyword, value=self._value(updated.value, found))
        )

    def _dict(self, original: cst.Dict, updated: Any, file: RuleFile) -> Hit | None:
        elements, hit = list(updated.elements), None
        for at, element in enumerate(original.elements):
            key: Any = getattr(element, "key", None)
            found = self._found(key, file)
            if found is not None and to_megabytes(found.value):
                new = elements[at]
                elements[at] = new.with_changes(key=self._renamed(new.key, found), value=self._value(new.value, found))
                hit = self._hit(key, found, updated.with_changes(elements=elements))
        return hit

    def _hit(self, at: cst.CSTNode, found: Variable, new: cst.CSTNode | None) -> Hit:
        row = self.rows[found.name]
        values = (("old", found.name), ("new", row.to or ""))
        return Hit(at, "computed" if new is None else row.why, new=new, code=row.code, values=values)

    def _found(self, node: object, file: RuleFile) -> Variable | None:
        found = file.literal(node) if isinstance(node, (cst.SimpleString, cst.Arg)) else None
        return found if found is not None and found.kind == "variable" and found.name in self.rows else None

    def _renamed(self, node: cst.SimpleString, found: Variable) -> cst.SimpleString:
        return quoted(node, self.rows[found.name].to or "")

    def _value(self, node: cst.BaseExpression, found: Variable) -> cst.BaseExpression:
        text = to_megabytes(found.value) or ""
        return quoted(node, text) if isinstance(node, cst.SimpleString) else cst.Integer(text)
