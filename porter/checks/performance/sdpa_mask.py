"""`scaled_dot_product_attention` with a mask that is added, and switches that choose among CUDA's kernels."""

from __future__ import annotations

from porter.checks.build import positional
from porter.checks.rule import Hit, Rule
from porter.python import idioms

SDPA = "torch.nn.functional.scaled_dot_product_attention"
SWITCHES = frozenset(
    {"torch.nn.attention.sdpa_kernel", "torch.backends.cuda.sdp_kernel"}
    | {f"torch.backends.cuda.enable_{name}_sdp" for name in ("flash", "mem_efficient", "math", "cudnn")}
)


class SdpaMask(Rule):
    code, slug = "PRT615", "sdpa-mask"
    calls = {SDPA, *SWITCHES}

    def visit(self, original, updated, file):
        name = file.name(original.func)
        if name in SWITCHES:
            return None if file.scene.apart else Hit(original.func, "switch", values=(("name", name),))
        if file.tested:
            return None
        if added := self._added(original, file):
            return Hit(added, "added", optional=True)
        return [Hit(original.func, match.why, optional=True) for match in self._misses(original, file)]

    @staticmethod
    def _added(original, file):
        """The mask, where it is made of zeros and minus infinity."""
        found = positional(original, 3, ("attn_mask",))
        link = file.scene.link(original)
        if found is None or found[1] is None or link is None:
            return None
        given = link[1][0]
        value = next(
            (k.value for k in given.keywords if k.arg == "attn_mask"), given.args[3] if len(given.args) > 3 else None
        )
        return found[1].value if value is not None and idioms.adds_infinity(value, file.scene, link) else None

    @staticmethod
    def _misses(original, file):
        matches = [] if file.scene.apart else file.matches(original, ("sdpa",))
        return {match.why: match for match in matches}.values()
