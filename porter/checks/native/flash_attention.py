"""Calls of flash_attn and xformers: attention by another name, with another layout, mask and scale."""

from __future__ import annotations

import ast

from porter.checks.native.attention_choices import XFORMERS_SWITCH, other_works
from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile
from porter.files.paths import is_test
from porter.python.index import ancestors
from porter.python.uses import imports_of

FLASH = ("flash_attn", "flash_attn.flash_attn_interface", "flash_attn_interface")
DENSE = ("flash_attn_func", "flash_attn_qkvpacked_func", "flash_attn_kvpacked_func")
PACKED = tuple(
    f"flash_attn_{word}_{kind}func" for word in ("varlen", "unpadded") for kind in ("", "qkvpacked_", "kvpacked_")
)
XFORMERS = ("xformers.ops.memory_efficient_attention", "xformers.ops.fmha.memory_efficient_attention")


class FlashAttention(Rule):
    code = "PRT409"
    edits = False
    calls = frozenset(
        {f"{module}.{name}" for module in FLASH for name in (*DENSE, *PACKED, "flash_attn_with_kvcache")} | {*XFORMERS}
    )

    methods = {XFORMERS_SWITCH}

    def visit(self, original: cst.Call, updated: cst.Call, file: RuleFile) -> Answer:
        if isinstance(original.func, cst.Attribute) and original.func.attr.value == XFORMERS_SWITCH:
            return self._switched_on(original, file)
        name = file.name(original.func) or ""
        if is_test(file.path) and file.facts.own.has_package(name.partition(".")[0], file.path):
            return None  # a test of the package itself: with other attention in its place nothing is tested
        function = name.rpartition(".")[2]
        values = (("name", function),)
        why = "cache" if function == "flash_attn_with_kvcache" else "packed" if function in PACKED else "dense"
        why = "xformers" if name in XFORMERS else why
        if other_works(file.scene.link(original), file):
            return Hit(original.func, "chosen", values=values, severity="note", effort="minutes")
        return Hit(
            original.func, why, values=values, severity="note" if file.imported.optional(original.func) else None
        )

    @staticmethod
    def _switched_on(original: cst.Call, file: RuleFile) -> Hit | None:
        """Whatever the program is told: behind a condition or a `try`, the import of xformers or an option speaks of it."""
        asked = any(
            above.__class__ in (ast.If, ast.Try, ast.IfExp) for above, _ in ancestors(file.scene.link(original))
        )
        if asked or imports_of(file, "xformers"):
            return None
        return Hit(original.func, "switch", values=(("name", XFORMERS_SWITCH),), effort="minutes")
