"""`scaled_dot_product_attention` with a mask that is added, and switches that choose among CUDA's kernels."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from porter.checks.performance import mask_idioms
from porter.engine.nodes import positional
from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile
from porter.python.index import Link, Node, walk
from porter.training.choices import is_never_handed
from porter.values.sdpa import BIAS

if TYPE_CHECKING:
    from porter.values.patterns import Match

SDPA = "torch.nn.functional.scaled_dot_product_attention"
GROUPED_SINCE = (2, 5)  # the torch that has `enable_gqa`
SWITCHES = frozenset(
    {"torch.nn.attention.sdpa_kernel", "torch.backends.cuda.sdp_kernel"}
    | {f"torch.backends.cuda.enable_{name}_sdp" for name in ("flash", "mem_efficient", "math", "cudnn")}
)


class SdpaMask(Rule):
    code = "PRT615"
    edits = False
    calls = {SDPA, *SWITCHES}

    def visit(self, original: cst.Call, updated: cst.Call, file: RuleFile) -> Answer:
        name = file.name(original.func)
        if name in SWITCHES:
            return None if file.scene.apart else Hit(original.func, "switch", values=(("name", name),))
        if file.tested:
            return None
        argument, given = positional(original, 3, ("attn_mask",)), self._given(original, file)
        mask = argument[1].value if argument and argument[1] else None
        scene: Any = file.scene
        if mask is not None and given is not None and mask_idioms.adds_infinity(given, scene, scene.link(original)):
            return Hit(mask, "added", optional=True)
        misses = [match.why for match in self._misses(original, file)]
        if "bias" in misses and _is_none(scene, scene.link(original)):
            misses.remove("bias")
        if "repeated" in misses:
            misses[misses.index("repeated")] = self._grouped(given, "bias" in misses, file)
        return [self._hit(why, original, mask, given, file) for why in misses]

    @staticmethod
    def _grouped(given: Node, biased: bool, file: RuleFile) -> str:
        """What takes fewer heads of keys and values: the call itself only where it reaches the fused kernel."""
        if biased or file.target.torch < GROUPED_SINCE:
            return "repeated-fusion"
        return "repeated" if given is None or isinstance(given, ast.Constant) else "repeated-masked"

    @staticmethod
    def _hit(why: str, original: cst.Call, mask: cst.BaseExpression | None, given: Node, file: RuleFile) -> Hit:
        named = getattr(given, "id", "")
        if why == "bias" and mask is not None and named and mask_idioms.only_masks(file.tree, named):
            return Hit(mask, "added", optional=True)
        return Hit(original.func, why, optional=True)

    @staticmethod
    def _given(original: cst.Call, file: RuleFile) -> ast.expr | None:
        """The mask."""
        link = file.scene.link(original)
        call = link and link[1][0]
        if call is None:
            return None
        named = (k.value for k in call.keywords if k.arg == "attn_mask")
        return next(named, call.args[3] if len(call.args) > 3 else None)

    @staticmethod
    def _misses(original: cst.Call, file: RuleFile) -> Iterable[Match]:
        matches = [] if file.scene.apart else file.matches(original, ("sdpa",))
        return {match.why: match for match in matches}.values()


def _is_none(scene: Any, link: Link | None) -> bool:
    """Whether all that is called a bias in the function around is a parameter that no call hands a value."""
    function = scene.function(link) if link is not None else None
    if function is None:
        return False
    names = {getattr(n, "id", "") or getattr(n, "attr", "") for n in walk(function[0])}
    biases = [name for name in names if BIAS.search(name)]
    return bool(biases) and all(is_never_handed(scene, name, function) for name in biases)
