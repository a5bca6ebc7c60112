"""Methods and attributes as an older torch had them: `correct[:k].view(-1)` of what was transposed, `embed._backend`,
`probs.multinomial()`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import Link, Node, RuleFile
from porter.python.assigned import last_above

if TYPE_CHECKING:
    from porter.training.scene import Scene

_KEEPING = frozenset({"eq", "ne", "clone"})  # their result lies in memory as what they are asked of


def _is_backend(link: Link) -> bool:
    """`embed._backend.Embedding`"""
    above: Node = link[1][0]
    return link[0].attr == "_backend" and above.__class__ is ast.Attribute and above.attr[:1].isupper()


def _draws_one(link: Link) -> bool:
    """`probs.multinomial()`"""
    above: Node = link[1][0]
    is_called = above.__class__ is ast.Call and above.func is link[0]
    return link[0].attr == "multinomial" and is_called and not above.args and not above.keywords


def _is_of_transposed(scene: Scene, link: Link) -> bool:
    """`correct[:k].view(-1)`, where `correct = pred.eq(target)` and `pred = pred.t()`."""
    value: Node = link[0].value
    if link[0].attr != "view" or not scene.file.source.says(b".t()"):
        return False
    if value.__class__ is ast.Subscript and value.slice.__class__ is ast.Slice:
        value = value.value
    return value.__class__ is ast.Name and _is_transposed(scene, value.id, value.lineno, link, 0)


def _is_transposed(scene: Scene, name: str, line: int, link: Link, depth: int) -> bool:
    nearest = last_above(scene.names, name, link, line - 1)
    if nearest is None:
        return False
    assign: Node = nearest[1] and nearest[1][0]
    call: Node = assign.value if assign.__class__ is ast.Assign and nearest[0] in assign.targets else None
    if call.__class__ is not ast.Call or call.func.__class__ is not ast.Attribute or depth > 3:
        return False
    if call.func.attr == "t" and not call.args:
        return True
    base: Node = call.func.value
    if call.func.attr not in _KEEPING or base.__class__ is not ast.Name:
        return False
    return _is_transposed(scene, base.id, assign.lineno, nearest, depth + 1)


class OlderMethods(Rule):
    code = "PRT712"
    methods = {"view", "multinomial"}
    attributes = {"_backend"}
    only = staticmethod(lambda scene, link: _is_backend(link) or _draws_one(link) or _is_of_transposed(scene, link))

    def visit(self, original: cst.Call | cst.Attribute, updated: Any, file: RuleFile) -> Answer:
        scene: Any = file.scene
        if isinstance(original, cst.Attribute):
            link = scene.link_of(original, ast.Attribute)
            if link is None or not _is_backend(link) or file.source.says(b"_backend ="):
                return None
            return Hit(original, "backend", values=(("old", f"_backend.{link[1][0].attr}"),))
        link = scene.link(original)
        if link is None or not isinstance(original.func, cst.Attribute):
            return None
        if _draws_one(link):
            if file.receiver(original) in ("own", "other") or file.source.says(b"def multinomial("):
                return None
            return Hit(original, "drawn", new=updated.with_changes(args=[cst.Arg(cst.Integer("1"))]), safe=True)
        if not _is_of_transposed(scene, link):
            return None
        if f"{file.path}:{scene.function_name(link)}" in file.facts.once.single_rows:
            return None  # one row lies in memory as it is
        new = updated.with_changes(func=updated.func.with_changes(attr=cst.Name("reshape")))
        return Hit(original.func, "view", new=new, safe=True)
