"""A loader that copies the next batch on a stream of its own, written by hand: torch_npu brings one."""

from __future__ import annotations

import ast

from porter.checks.performance import prefilters
from porter.checks.performance.opportunity import Opportunity, Seen
from porter.engine.rule import cst
from porter.engine.rule_file import RuleFile
from porter.python.blocks import once
from porter.python.evidence import call_name
from porter.python.walks import walk

# what torch_npu's has, and what it calls; whatever else a class does stays undone there
_METHODS = frozenset({"__init__", "preload", "next"})
_CALLS = frozenset(
    "iter next Stream stream current_stream wait_stream preload cuda npu to record_stream super __init__ device".split()
)


class DataPrefetcher(Opportunity):
    code = "PRT641"
    offers = "torch_npu.contrib.Prefetcher"
    calls = {"torch.cuda.Stream"}
    only = staticmethod(prefilters.prefetches)

    def find(self, original: cst.Call, file: RuleFile) -> Seen | None:
        link = file.scene.link(original)
        if link is None or not file.glance(prefilters.prefetches, link):
            return None
        owner = file.scene.owner(link)
        return (original.func, "by-hand", (("name", owner.name),)) if owner and _does_the_same(owner) else None


@once
def _does_the_same(owner: ast.ClassDef) -> bool:
    """Whether batches are pairs, and the class copies them and hands them out, and does nothing else with them."""
    nodes = [*walk(owner)]
    methods = {node.name for node in owner.body if isinstance(node, ast.FunctionDef)}
    calls = {call_name(node.func) for node in nodes if isinstance(node, ast.Call)}
    return methods <= _METHODS and calls <= _CALLS and any(map(_takes_a_pair, nodes))


def _takes_a_pair(node: ast.AST) -> bool:
    """`self.next_input, self.next_target = next(self.loader)`"""
    if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
        return False
    target = node.targets[0]
    is_pair = isinstance(target, ast.Tuple) and len(target.elts) == 2
    return is_pair and len(node.targets) == 1 and call_name(node.value.func) == "next"
