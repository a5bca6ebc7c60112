"""Strings that are process-group backends: "nccl", "cpu:gloo,cuda:nccl", and every comparison with them."""

from __future__ import annotations

from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile

CODES = {"compared": "PRT202", "case": "PRT202", "option": "PRT209"}


class BackendLiteral(Rule):
    code = "PRT201"
    literals = {"backend"}

    def visit(self, original: cst.BaseString, updated: cst.BaseString, file: RuleFile) -> Answer:
        literal = file.literal(original)
        if literal is None or literal.role == "choices":  # PRT209 answers the list as a whole
            return None
        code = CODES.get(literal.role, self.code)
        why = literal.role if code != self.code else "literal"
        new = file.style.backend(updated, file)
        named = new.value if isinstance(new, cst.Name) else file.target.backend  # a style may write a name
        values: tuple[tuple[str, str], ...] = (("old", file.text(original)), ("new", named))
        script = None
        if literal.role == "option" and isinstance(original, cst.SimpleString):
            old = str(original.evaluated_value)
            script = next((s for o in file.around.options(original) if (s := file.facts.launch.passes(o, old))), None)
        if script:
            why, values = "option-passed", (*values, ("script", script))
        elif not literal.certain or new is None:
            why = "unwritten" if literal.certain and code == self.code else "uncertain"
        safe = literal.certain and script is None
        return Hit(original, why, new=new, safe=safe, values=values, code=code, loads=code == self.code)
