"""`scaler.load_state_dict(checkpoint["scaler"])`: torch_npu's GradScaler reads a key that that of CUDA does not save."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from porter.engine.rule import Hit, IndexRule
from porter.engine.rule_file import RuleFile
from porter.python.evidence import target_name
from porter.python.index import Link, ancestors
from porter.regex import lazy

_MODULES = ("torch.cuda.amp", "torch.cuda.amp.grad_scaler", "torch.npu.amp", "torch_npu.npu.amp")
# torch.amp.GradScaler is torch's own, and saves no such key
_SCALERS = frozenset(f"{module}.GradScaler" for module in _MODULES)
_LOADS, _KEY = "load_state_dict", lazy(rb"[\"']dynamic[\"']")  # who names the key adds it


class GradScalerState(IndexRule):
    code = "PRT319"

    def look(self, file: RuleFile) -> Iterator[Hit]:
        if not file.source.says(b"GradScaler") or not file.source.says(_LOADS.encode()):
            return
        if file.tested or file.source.says(_KEY):
            return
        names = {name for link in file.buckets[ast.Call] for name in _held_as(link, file)}
        for link in file.buckets[ast.Attribute] if names else ():
            attribute, above = link[0], link[1][0]
            called = isinstance(above, ast.Call) and above.func is attribute
            if called and attribute.attr == _LOADS and target_name(attribute.value) in names:
                yield Hit(link, "loaded", values=(("name", f"{target_name(attribute.value)}.{_LOADS}"),))


def _held_as(link: Link, file: RuleFile) -> Iterator[str]:
    """The names, and attributes, that a scaler is given to."""
    if file.names.resolve(link[0].func, link) in _SCALERS:
        assign = next((above for above, _ in ancestors(link) if isinstance(above, ast.stmt)), None)
        yield from (target_name(target) for target in getattr(assign, "targets", ()))
