"""`scaled_dot_product_attention` with a mask that is added, and switches that choose among CUDA's kernels."""

from __future__ import annotations

from porter.checks.performance import mask_idioms
from porter.engine.nodes import positional
from porter.engine.rule import Hit, Rule

SDPA = "torch.nn.functional.scaled_dot_product_attention"
SWITCHES = frozenset(
    {"torch.nn.attention.sdpa_kernel", "torch.backends.cuda.sdp_kernel"}
    | {f"torch.backends.cuda.enable_{name}_sdp" for name in ("flash", "mem_efficient", "math", "cudnn")}
)


class SdpaMask(Rule):
    code = "PRT615"
    edits = False
    calls = {SDPA, *SWITCHES}

    def visit(self, original, updated, file):
        name = file.name(original.func)
        if name in SWITCHES:
            return None if file.scene.apart else Hit(original.func, "switch", values=(("name", name),))
        if file.tested:
            return None
        found, given = positional(original, 3, ("attn_mask",)), self._given(original, file)
        mask = found and found[1] and found[1].value
        if (
            mask is not None
            and given is not None
            and mask_idioms.adds_infinity(given, file.scene, file.scene.link(original))
        ):
            return Hit(mask, "added", optional=True)
        return [self._hit(match.why, original, mask, given, file) for match in self._misses(original, file)]

    @staticmethod
    def _hit(why, original, mask, given, file):
        named = getattr(given, "id", "")
        if why == "bias" and mask is not None and named and mask_idioms.only_masks(file.tree, named):
            return Hit(mask, "added", optional=True)
        return Hit(original.func, why, optional=True)

    @staticmethod
    def _given(original, file):
        """The mask."""
        link = file.scene.link(original)
        call = link and link[1][0]
        if call is None:
            return None
        named = (k.value for k in call.keywords if k.arg == "attn_mask")
        return next(named, call.args[3] if len(call.args) > 3 else None)

    @staticmethod
    def _misses(original, file):
        matches = [] if file.scene.apart else file.matches(original, ("sdpa",))
        return {match.why: match for match in matches}.values()
