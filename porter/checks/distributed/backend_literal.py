"""Strings that are process-group backends: "nccl", "cpu:gloo,cuda:nccl", and every comparison with them."""

from __future__ import annotations

import ast

from porter.checks.described import described
from porter.checks.device.offered import offered
from porter.checks.distributed.by_value import by_value
from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile
from porter.python.index import Link, ancestors

CODES = {"compared": "PRT202", "case": "PRT202", "option": "PRT209"}


def _is_of_openmmlab(link: Link) -> bool:
    """Whether a backend stands in `dist_params = dict(backend="nccl")` or `dist_cfg=dict(backend="nccl")`, settings that only the
    init_dist of OpenMMLab reads."""
    holder = next(
        (
            up[0]
            for up in ancestors(link)
            if up[0].__class__ in (ast.Assign, ast.keyword) and up[0].value is not link[0]
        ),
        None,
    )
    name = getattr(holder, "arg", None) or getattr(getattr(holder, "targets", [None])[0], "id", "")
    return name in ("dist_params", "dist_cfg")


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
            if new is None and _is_of_openmmlab(literal.link):
                why = "of-openmmlab"
        safe = literal.certain and script is None
        more = by_value(file, literal.link) if new is not None else ()
        if isinstance(new, cst.SimpleString):
            said = offered(literal.link, file, "nccl") if code != self.code else ()
            more = (*more, *said, *described(literal.link, str(new.evaluated_value), file))
        return Hit(original, why, new=new, safe=safe, values=values, more=more, code=code, loads=code == self.code)
