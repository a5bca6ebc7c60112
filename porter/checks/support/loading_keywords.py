"""`from_pretrained(name, load_in_8bit=False)`: transformers 5 takes no such keyword, whatever its value."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import Link, RuleFile
from porter.python.assigned import values_of
from porter.python.evidence import constant
from porter.regex import lazy
from porter.versions import release

if TYPE_CHECKING:
    from porter.training.scene import Scene

_KEYWORDS = ("load_in_4bit", "load_in_8bit")
_WORDS = frozenset(word.encode() for word in _KEYWORDS)
_LOADS = lazy(r"transformers\.(?:\w+\.)*\w*(?:Model|For[A-Z])\w*\.from_pretrained")  # no tokenizer, no configuration
_TORCH = (2, 6)  # transformers 5 works with no older one


def _may_give(scene: Scene, link: Link) -> bool:
    """Whether one of these keywords is given, by itself or in `**options`."""
    if _WORDS.isdisjoint(scene.file.source.words):
        return False
    return any(k.arg in _KEYWORDS or k.arg is None and _spread(scene, k.value, link) for k in link[1][0].keywords)


def _spread(scene: Any, value: ast.expr, link: Link) -> list[str]:
    """Which of them a dictionary of this function holds, whatever their value."""
    held = values_of(scene.names, value, link) if isinstance(value, ast.Name) else []
    keys = [constant(key) for node in held if isinstance(node, ast.Dict) for key in node.keys]
    return [key for key in keys if key in _KEYWORDS]


class LoadingKeywords(Rule):
    code = "PRT716"
    methods = {"from_pretrained"}
    only = staticmethod(_may_give)

    def visit(self, original: cst.Call, updated: cst.Call, file: RuleFile) -> Answer:
        scene: Any = file.scene
        link = scene.link(original)
        if link is None or not file.glance(_may_give, link) or not _LOADS.fullmatch(file.name(original.func) or ""):
            return None
        # where the project holds on to an older transformers, nothing stops
        if release(file.session.catalogue.torch) < _TORCH or file.facts.lists.below("transformers>=5"):
            return None
        for index, arg in enumerate(original.args):
            word = arg.keyword.value if arg.keyword else ""
            if word in _KEYWORDS and file.text(arg.value) != "True":  # what is True has to go for another reason
                is_off = file.text(arg.value) == "False"
                return self._told(arg, word, _without(updated, index) if is_off else None, is_off=is_off)
            call: ast.Call = link[1][0]
            stars = [k.value for k in call.keywords if k.arg is None] if arg.star == "**" else []
            if words := [word for value in stars for word in _spread(scene, value, link)]:
                return self._told(arg, words[0], None, is_off=False)
        return None

    @staticmethod
    def _told(arg: cst.Arg, word: str, new: cst.Call | None, *, is_off: bool) -> Hit:
        values = (("name", word),)
        return Hit(arg, "off" if is_off else "chosen", new=new, safe=True, values=values)


def _without(call: cst.Call, index: int) -> cst.Call | None:
    if "#" in cst.Module([]).code_for_node(call.args[index]):
        return None  # a comment is for a person to keep
    args = [a for n, a in enumerate(call.args) if n != index]
    if index == len(args) and args:
        args[-1] = args[-1].with_changes(comma=call.args[index].comma)
    return call.with_changes(args=args)
