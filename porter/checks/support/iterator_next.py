"""`it.next()` of an iterator: Python 3 asks by `next(it)`, and the iterators of torch's loaders have no such method any more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from porter.checks.support.fresh_environment import is_chosen, matters
from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import Link, Node, RuleFile
from porter.training.iterators import is_iterator

if TYPE_CHECKING:
    from porter.training.scene import Scene


def _is_asked(scene: Scene, link: Link) -> bool:
    call: Node = link[1][0]
    return not call.args and not call.keywords and is_iterator(scene, link[0].value, link)


class IteratorNext(Rule):
    code = "PRT714"
    methods = {"next"}
    only = staticmethod(_is_asked)

    def visit(self, original: cst.Call, updated: Any, file: RuleFile) -> Answer:
        link = file.scene.link(original)
        if (
            link is None
            or not file.glance(_is_asked, link)
            or not matters(file)
            or not isinstance(original.func, cst.Attribute)
        ):
            return None
        if is_chosen(link):
            return None
        asked = updated.func.value
        # `return(it).next()`: the parentheses stay where they are
        lpar, rpar = [*updated.lpar, *asked.lpar], [*asked.rpar, *updated.rpar]
        new = cst.Call(cst.Name("next"), [cst.Arg(asked.with_changes(lpar=[], rpar=[]))], lpar=lpar, rpar=rpar)
        values = (("name", file.text(original.func.value)),)
        is_whole = "#" not in cst.Module([]).code_for_node(original.func.dot) and not file.names.bound(
            "next"
        )  # comments are for a person to keep
        return Hit(original.func, "default", new=new if is_whole else None, safe=True, values=values)
