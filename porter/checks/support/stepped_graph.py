"""`loss_g.backward()` below `optimizer_d.step()`, where the loss was computed with the discriminator before: its weights are others now."""

from __future__ import annotations

import ast

from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import Link, Node, RuleFile
from porter.python.blocks import BODIES, place
from porter.python.index import ancestors
from porter.training.stepped_weights import given_before, modules_of, stepped

_FAR = 60  # statements of a block above a loss


class SteppedGraph(Rule):
    code = "PRT723"
    edits = False
    methods = {"backward"}

    def visit(self, original: cst.Call, updated: cst.Call, file: RuleFile) -> Answer:
        loss = original.func.value if isinstance(original.func, cst.Attribute) else None
        if not isinstance(loss, cst.Name) or file.tested or not file.source.says(b".step()"):
            return None
        link = file.scene.link(original)
        if link is None:
            return None
        block, index = _block(link)
        block, index = block[max(0, index - _FAR) : index], min(index, _FAR)
        for at in range(index - 1, -1, -1):
            for optimizer in stepped(block[at]):
                if name := given_before(loss.value, block, at, modules_of(optimizer, file)):
                    return Hit(original.func, "found", values=(("name", name), ("old", f"{optimizer}.step()")))
        return None


def _block(link: Link) -> tuple[list[Node], int]:
    """The statements of the block around a call that is a statement, and its place among them."""
    for up in ancestors(link):
        if isinstance(up[0], ast.Expr):
            field, index = place(up[1][0], up[0])
            return (getattr(up[1][0], field), index) if field in BODIES else ([], 0)
        if not isinstance(up[0], (ast.Call, ast.Attribute)):
            break
    return [], 0
