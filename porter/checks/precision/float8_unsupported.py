"""8-bit floats on a chip that has none. Said once for a file, at the first place that makes or multiplies such numbers."""

from __future__ import annotations

import ast

from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile
from porter.python.index import Link
from porter.target import WITHOUT_FLOAT8

TYPES = frozenset(f"torch.float8_{kind}" for kind in ("e4m3fn", "e5m2", "e4m3fnuz", "e5m2fnuz", "e8m0fnu"))
PRODUCT = "torch._scaled_mm"
_USES = (ast.Call, ast.keyword, ast.Assign, ast.AnnAssign, ast.Return)


class Float8Unsupported(Rule):
    code = "PRT317"
    edits = False
    socs = WITHOUT_FLOAT8
    references = TYPES | {PRODUCT}

    def visit(self, original: cst.Attribute | cst.Name, updated: cst.Attribute | cst.Name, file: RuleFile) -> Answer:
        used = [link for link in file.meaning.mentions.of(TYPES | {PRODUCT}) if _is_used(link)]
        if file.tested or not used or file.source.span(used[0][0])[0] != file.span(original)[0]:
            return None
        values = (("name", file.text(original)), ("soc", file.target.soc))
        more = (("count", str(len(used) - 1)),) if used[1:] else ()
        return Hit(original, "several" if more else "used", values=(*values, *more))


def _is_used(link: Link) -> bool:
    """Given to a call or kept under a name; not compared, and no entry of a table of types."""
    above = link[1]
    while above is not None and above[0].__class__ is ast.IfExp:
        above = above[1]
    return above is not None and isinstance(above[0], _USES)
