"""A training DataLoader that keeps its last, smaller batch: one more shape in every epoch."""

from __future__ import annotations

import ast

from porter.checks.performance import prefilters
from porter.checks.performance.loader_calls import LOADERS, arguments, feeds_training
from porter.engine.nodes import with_keyword
from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile
from porter.python.blocks import once
from porter.python.index import FUNCTIONS, ancestors, walk
from porter.regex import rare

# what A2 and A3 make anew for a new shape; their operators themselves are ready for any
TRACED = rare(
    rb"(?m)^[^#\n]*(?:torch\.compile\b|CUDAGraph|NPUGraph|make_graphed_callables|(?:cuda|npu)\.graph\(|torchair)"
)


class LastBatch(Rule):
    code = "PRT603"
    calls = LOADERS
    only = staticmethod(prefilters.trains)

    def visit(self, original: cst.Call, updated: cst.Call, file: RuleFile) -> Answer:
        if not file.session.compiles and not file.source.says(TRACED):
            return None
        given = arguments(original, file)
        if (
            given is None
            or "drop_last" in given
            or "batch_sampler" in given
            or given.get("batch_size", "1") in ("1", "None")
        ):
            return None
        if not feeds_training(original, given, file) or _is_chosen_beside(original, file):
            return None
        return Hit(
            original.func, "kept", new=with_keyword(updated, "drop_last", cst.Name("True")), values=file.session.anew
        )


def _is_chosen_beside(call: cst.Call, file: RuleFile) -> bool:
    """Whether the function around hands `drop_last=args.drop_last` to something else: then an option of the user decides."""
    link = file.scene.link(call)
    function = next((above[0] for above in ancestors(link) if above[0].__class__ in FUNCTIONS), None) if link else None
    return function is not None and _hands_on(function)


@once
def _hands_on(function: ast.AST) -> bool:
    keywords = (node for node in walk(function) if node.__class__ is ast.keyword)
    return any(k.arg == "drop_last" and k.value.__class__ is not ast.Constant for k in keywords)
