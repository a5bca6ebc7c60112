"""`it.next()` of an iterator: Python 3 asks by `next(it)`, and the iterators of torch's loaders have no such method any more."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from porter.checks.support.fresh_environment import matters
from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import Link, Node, RuleFile
from porter.python.index import ancestors
from porter.regex import lazy
from porter.training.iterators import is_iterator

if TYPE_CHECKING:
    from porter.training.scene import Scene

_ASKED = lazy(
    rb"hasattr\([^()\n]*[\"'](?:__)?next(?:__)?[\"']|\bPY[23]\b|version_info"
)  # an older Python has its own branch


def _is_asked(scene: Scene, link: Link) -> bool:
    call: Node = link[1][0]
    return not call.args and not call.keywords and is_iterator(scene, link[0].value, link)


def _is_caught(link: Link) -> bool:
    """`try: it.next()`, `except AttributeError:`"""
    handlers = [h for a in ancestors(link) if a[0].__class__ is ast.Try for h in a[0].handlers]
    return any(h.type is not None and "AttributeError" in ast.unparse(h.type) for h in handlers)


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
        if file.source.says(_ASKED) or _is_caught(link):
            return None
        new = cst.Call(cst.Name("next"), [cst.Arg(updated.func.value)], lpar=updated.lpar, rpar=updated.rpar)
        values = (("name", file.text(original.func.value)),)
        return Hit(original.func, "default", new=None if file.names.bound("next") else new, safe=True, values=values)
