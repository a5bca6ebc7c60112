"""Sizes in a model's configuration that the matrix unit has to fill up: notes, at most one for each value."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from porter.checks.performance import layer_widths, prefilters
from porter.engine.rule import Hit, Rule, cst
from porter.engine.rule_file import RuleFile
from porter.values import shapes
from porter.values.shapes import KINDS

TYPES = {"Call": ast.Call, "Dict": ast.Dict, "Assign": ast.Assign, "AnnAssign": ast.AnnAssign}


class ShapeAffinity(Rule):
    code = "PRT640"
    edits = False
    calls = layer_widths.LAYERS
    nodes = (*TYPES, "FunctionDef")
    text = tuple(rf"\b{key}(?:[ \t]*:[ \t]*int)?[\"']?[ \t]*[=:][ \t]*\d\d" for key in sorted(KINDS))
    only = staticmethod(prefilters.has_sizes)

    def visit(
        self, original: cst.Call | cst.Dict | cst.Assign | cst.AnnAssign | cst.FunctionDef, updated: Any, file: RuleFile
    ) -> Iterator[Hit]:
        if isinstance(original, cst.Call) and file.name(original.func) in layer_widths.LAYERS:
            yield from _of_layer(original, file)
        numbers = [(key, node) for key, node in _numbers(original) if key in KINDS]
        if not numbers or _aside(file):
            return
        kind = TYPES.get(type(original).__name__)
        link = file.scene.link_of(original, kind) if kind else file.scene.link_to(file.statement)
        sizes = file.tensors.sizes(link) if link is not None else {}
        for key, node in numbers:
            if key in sizes:
                yield Hit(node, sizes[key].why, optional=True, values=sizes[key].values(key))


def _of_layer(original: cst.Call, file: RuleFile) -> Iterator[Hit]:
    link = None if file.tested or _aside(file) else file.scene.link(original)
    if link is None:
        return
    call = link[1][0]
    if widths := layer_widths.misfits(call):
        yield Hit(original.func, "layer", optional=True, values=layer_widths.values(widths))
    elif attention := layer_widths.attention_width(call):
        yield Hit(original.func, "layer", optional=True, values=layer_widths.of_heads(*attention))
    elif (size := layer_widths.vocabulary(call)) and (misfit := shapes.misfits({"vocab_size": size}, certain=True)):
        yield Hit(original.func, "vocab", optional=True, values=misfit["vocab_size"].values("out_features"))


def _aside(file: RuleFile) -> bool:
    """Also the configuration of a published model, whose weights have their sizes."""
    if file.source.says(b"PRETRAINED_CONFIG_ARCHIVE_MAP"):
        return True
    return file.scene.apart or "docs" in file.path.split("/")


def _numbers(node: Any) -> list[tuple[str, cst.CSTNode]]:
    """(name, the number's node) of what stands in it."""
    pairs: list[tuple[Any, Any]]
    if isinstance(node, cst.Call):
        pairs = [(a.keyword.value, a.value) for a in node.args if a.keyword]
    elif isinstance(node, cst.Dict):
        pairs = [
            (e.key.evaluated_value, e.value)
            for e in node.elements
            if isinstance(e, cst.DictElement) and isinstance(e.key, cst.SimpleString)
        ]
    elif isinstance(node, cst.FunctionDef):
        pairs = [(p.name.value, p.default) for p in (*node.params.params, *node.params.kwonly_params)]
    else:
        targets = [t.target for t in node.targets] if isinstance(node, cst.Assign) else [node.target]
        pairs = [(getattr(getattr(t, "attr", t), "value", ""), node.value) for t in targets]
    return [(key, value) for key, value in pairs if isinstance(value, cst.Integer)]
