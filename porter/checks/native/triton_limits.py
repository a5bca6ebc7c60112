"""What Triton kernels may say for GPUs and not for NPUs: inline PTX, CUDA's libdevice, TF32, grids and blocks that do not fit."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from porter.checks.native import prefilters
from porter.checks.native.triton_detours import DESCRIPTOR, TENSOR_MAP, descriptor, has_tried_both, in_tf32, tensor_map
from porter.checks.native.triton_rows import is_capped, is_small
from porter.engine.nodes import imported
from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile
from porter.regex import lazy

CUDA = "triton.language.extra.cuda"
PTX = "triton.language.inline_asm_elementwise"
ACTIVE = "triton.runtime.driver.active.get_active_torch_device"
DOT = "triton.language.dot"
PROGRAMS = 65535  # coreDim
BUFFER = 192 * 1024  # bytes, of which a block of half precision needs two for an element
_BLOCK = lazy(r"(?i)block|tile|^[bx]s?$|^[bx]_?(?:size|[mnk])$")
_TUNED = ("num_warps", "num_stages")


class TritonLimits(Rule):
    code = "PRT412"
    edits = False
    references = frozenset({PTX, ACTIVE})
    prefixes = frozenset({CUDA, DESCRIPTOR})
    calls = frozenset({"triton.Config", "triton.next_power_of_2", DOT})
    imports = frozenset({"triton"})
    nodes = ("Call",)
    text = r"\]\("
    only = staticmethod(prefilters.launches)

    def visit(
        self, original: cst.Call | cst.Attribute | cst.Name | cst.Import | cst.ImportFrom, updated: Any, file: RuleFile
    ) -> Answer:
        if isinstance(original, (cst.Import, cst.ImportFrom)):
            names = [name for name in imported(original) if f"{name}.".startswith(f"{CUDA}.")]
            if not names or has_tried_both(file.scene.link_of(original, ast.ImportFrom)):
                return None
            return Hit(original, "libdevice", values=(("name", names[0]),))
        if not isinstance(original, cst.Call):
            name = file.name(original) or ""
            if name.startswith(DESCRIPTOR):
                return descriptor(original, file)
            if TENSOR_MAP.search(name):
                return tensor_map(original, name, file)
            why = "device" if name == ACTIVE else "ptx" if name == PTX else "libdevice"
            return Hit(original, why, values=(("name", name),))
        if isinstance(original.func, cst.Subscript):
            link = file.scene.link_of(original, ast.Call)  # other rules may have singled the statement out
            return list(self._launch(original, file)) if link is not None and file.glance(self.only, link) else None
        if file.name(original.func) == DOT:
            return in_tf32(original, file)
        if file.name(original.func) == "triton.next_power_of_2":
            size = file.scene.link_of(original, ast.Call)
            return None if file.tested or is_capped(size) or is_small(size) else Hit(original, "row")
        return list(self._config(original, file))

    @staticmethod
    def _launch(call: Any, file: RuleFile) -> Iterator[Hit]:
        elements = call.func.slice
        tuples = [e.slice.value for e in elements if isinstance(e.slice, cst.Index)]
        if len(tuples) == 1 and isinstance(tuples[0], cst.Tuple):
            tuples = [element.value for element in tuples[0].elements]
        sizes = [_integer(node) for node in tuples]
        programs = math.prod(size or 1 for size in sizes)
        if programs > PROGRAMS:
            yield Hit(call.func, "grid", values=(("count", str(programs)),))
        elif len(sizes) > 1 and sizes[1:] != [1] * (len(sizes) - 1):
            yield Hit(call.func, "dimensions", values=(("count", str(len(sizes))),))
        yield from _too_large(call, {a.keyword.value: a.value for a in call.args if a.keyword})
        yield from _tuned(call, file)

    @staticmethod
    def _config(call: cst.Call, file: RuleFile) -> Iterator[Hit]:
        first = call.args[0].value if call.args else None
        if isinstance(first, cst.Dict):
            pairs = [e for e in first.elements if isinstance(e, cst.DictElement)]
            yield from _too_large(call, {getattr(e.key, "raw_value", ""): e.value for e in pairs})
        yield from _tuned(call, file)


def _integer(node: cst.BaseExpression) -> int | None:
    return int(node.value, 0) if isinstance(node, cst.Integer) and not node.value.startswith("0_") else None


def _too_large(call: cst.Call, given: Mapping[str, cst.BaseExpression]) -> Iterator[Hit]:
    """Of the sizes that are numbers, the two largest make a block."""
    sizes = sorted((_integer(value) or 0 for name, value in given.items() if _BLOCK.search(name)), reverse=True)
    elements = max(1, sizes[0] if sizes else 0) * max(1, sizes[1] if sizes[1:] else 0)
    if elements * 2 > BUFFER:
        yield Hit(call.func, "block", values=(("count", str(elements)),))


def _tuned(call: cst.Call, file: RuleFile) -> Iterator[Hit]:
    given = [(a.keyword.value, a.value) for a in call.args if a.keyword and a.keyword.value in _TUNED]
    if names := [word for word, value in given if not _is_handed_on(word, value, file)]:
        yield Hit(call.func, "warps", values=(("name", ", ".join(names)),))


def _is_handed_on(word: str, value: cst.BaseExpression, file: RuleFile) -> bool:
    """`num_warps=config.num_warps`, `num_warps=num_warps` where nothing in the file says a number: what the kernels ask for."""
    if isinstance(value, cst.Attribute):
        return value.attr.value == word
    said = re.compile(rb"\b%s\s*(?::\s*\w+\s*)?=[^=\n,)]*\d" % word.encode())
    return isinstance(value, cst.Name) and value.value == word and not file.source.says(said)
