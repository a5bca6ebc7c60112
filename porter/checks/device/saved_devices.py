"""`map_location={"cuda:0": "cpu"}`: a key is what a checkpoint says, and those that GPUs wrote go on saying it."""

from __future__ import annotations

import ast
from typing import cast

from porter.checks.choices import with_twin_key
from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile


class SavedDevices(Rule):
    code = "PRT148"
    nodes = ("Dict",)
    text = r"cuda(?<=[\"']cuda)"  # plain letters first: the search is fast

    def visit(self, original: cst.Dict, updated: cst.Dict, file: RuleFile) -> Answer:
        places = {index: place for index, e in enumerate(original.elements) if (place := _saved(e, file))}
        if not places or len(original.elements) != len(updated.elements):
            return None
        new, first = updated, next(iter(places.values()))
        values = (("old", file.text(first)),)
        for index in reversed(places):  # from behind: the places of the others stay
            key = cst.ensure_type(updated.elements[index], cst.DictElement).key
            [spelled, *_] = _strings(key)
            named = file.style.device(spelled, file)
            if named is None:
                return Hit(first, "unwritten", values=values)
            twin = cast(cst.BaseExpression, key.deep_replace(spelled, named))
            # of computed keys alone: a dict with a plain NPU key is not visited at all
            if not any(_says(other, twin) for other in updated.elements):
                new = with_twin_key(new, index, twin)
        return None if new is updated else Hit(first, "saved", new=new, safe=True, values=values, loads=True)


def _saved(element: cst.BaseDictElement, file: RuleFile) -> cst.BaseString | None:
    """The string in a key that says where a checkpoint was saved."""
    key = element.key if isinstance(element, cst.DictElement) else None
    literals = ((part, file.literal(part)) for part in _strings(key))
    return next((part for part, literal in literals if literal is not None and literal.role == "saved"), None)


def _strings(key: cst.CSTNode | None) -> list[cst.BaseString]:
    """Of `"cuda:%d" % 0`, in the order of the source."""
    if isinstance(key, (cst.SimpleString, cst.FormattedString)):
        return [key]
    return [found for part in (key.children if key else ()) for found in _strings(part)]


def _says(element: cst.BaseDictElement, key: cst.BaseExpression) -> bool:
    """Whether it has this key, in whatever quotes."""
    return isinstance(element, cst.DictElement) and _dumped(element.key) == _dumped(key)


def _dumped(key: cst.BaseExpression) -> str:
    return ast.dump(ast.parse(f"({cst.Module([]).code_for_node(key)}\n)", mode="eval"))  # it may stand on several lines
