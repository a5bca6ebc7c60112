"""`NCCL_BUFFSIZE` counts bytes, `HCCL_BUFFSIZE` MB: name and value change together, where the value stands beside the name.

Shell has the same in checks/scripts/shell_variables.py, and settings in checks/settings/variables_set.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from porter.engine.nodes import quoted
from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile, Variable
from porter.rulebook.table import Tables
from porter.rulebook.variable_values import is_taken, to_megabytes


class EnvironmentVariableUnit(Rule):
    code = "PRT802"
    spelled = True
    literals = {"variable"}
    nodes = ("Assign", "Call", "Arg", "Dict")

    def __init__(self, tables: Tables) -> None:
        self.rows = {name: row for name, row in tables.variables.items() if row.value == "bytes-to-mb"}
        self.text = tuple(rf"\b{name}\b" for name in sorted(self.rows))

    def visit(
        self, original: cst.BaseString | cst.Assign | cst.Call | cst.Arg | cst.Dict, updated: Any, file: RuleFile
    ) -> Answer:
        answers: dict[type, Callable[[Any, Any, RuleFile], Hit | None]]
        answers = {cst.Assign: self._assign, cst.Call: self._call, cst.Arg: self._arg, cst.Dict: self._dict}
        answer = answers.get(type(original))
        if answer is not None:
            return answer(original, updated, file)
        literal = self._literal(original, file)  # the name alone: whatever is done with the value counts in bytes
        return self._hit(original, literal, None) if literal and not self._number(literal) else None

    def _assign(self, original: cst.Assign, updated: Any, file: RuleFile) -> Hit | None:
        target = original.targets[0].target
        if len(original.targets) != 1 or not isinstance(target, cst.Subscript):
            return None
        key: Any = getattr(target.slice[0].slice, "value", None)
        if (literal := self._literal(key, file)) is None or not self._number(literal):
            return None
        new = updated.targets[0].target
        index = new.slice[0].slice.with_changes(value=self._renamed(new.slice[0].slice.value, literal))
        new = new.with_changes(slice=[new.slice[0].with_changes(slice=index)])
        targets = [updated.targets[0].with_changes(target=new)]
        return self._hit(key, literal, updated.with_changes(targets=targets, value=self._value(updated.value, literal)))

    def _call(self, original: cst.Call, updated: cst.Call, file: RuleFile) -> Hit | None:
        """`os.environ.setdefault("NCCL_BUFFSIZE", "8388608")`."""
        literal = self._literal(original.args[0].value, file) if original.args else None
        if literal is None or not self._number(literal):
            return None
        args: list[Any] = list(updated.args)
        args[0] = args[0].with_changes(value=self._renamed(args[0].value, literal))
        args[1] = args[1].with_changes(value=self._value(args[1].value, literal))
        return self._hit(original.args[0], literal, updated.with_changes(args=args))

    def _arg(self, original: cst.Arg, updated: Any, file: RuleFile) -> Hit | None:
        """`dict(os.environ, NCCL_BUFFSIZE="8388608")`."""
        literal = self._literal(original, file)
        if literal is None or literal.role != "keyword":
            return None
        if not self._number(literal):
            return self._hit(original, literal, None)
        keyword = updated.keyword.with_changes(value=self.rows[literal.name].to)
        return self._hit(
            original, literal, updated.with_changes(keyword=keyword, value=self._value(updated.value, literal))
        )

    def _dict(self, original: cst.Dict, updated: Any, file: RuleFile) -> Hit | None:
        elements, hit = list(updated.elements), None
        for index, element in enumerate(original.elements):
            key: Any = getattr(element, "key", None)
            literal = self._literal(key, file)
            if literal is not None and self._number(literal):
                new = elements[index]
                elements[index] = new.with_changes(
                    key=self._renamed(new.key, literal), value=self._value(new.value, literal)
                )
                hit = self._hit(key, literal, updated.with_changes(elements=elements))
        return hit

    def _hit(self, node: cst.CSTNode, literal: Variable, new: cst.CSTNode | None) -> Hit:
        row = self.rows[literal.name]
        values = (("old", literal.name), ("new", row.to or ""))
        if new is None and (number := to_megabytes(literal.value)):
            return Hit(node, "less", code=row.code, values=(*values, ("converted", number)))
        return Hit(node, "computed" if new is None else row.why, new=new, code=row.code, values=values)

    def _number(self, literal: Variable) -> str | None:
        """The value in the other unit, where it may be taken over."""
        number = to_megabytes(literal.value)
        return number if number and is_taken(self.rows[literal.name], number) else None

    def _literal(self, node: object, file: RuleFile) -> Variable | None:
        literal = file.literal(node) if isinstance(node, (cst.SimpleString, cst.Arg)) else None
        return literal if literal is not None and literal.kind == "variable" and literal.name in self.rows else None

    def _renamed(self, node: cst.SimpleString, literal: Variable) -> cst.SimpleString:
        return quoted(node, self.rows[literal.name].to or "")

    def _value(self, node: cst.BaseExpression, literal: Variable) -> cst.BaseExpression:
        text = self._number(literal) or ""
        return quoted(node, text) if isinstance(node, cst.SimpleString) else cst.Integer(text)
