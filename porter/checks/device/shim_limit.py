"""What torch_npu's transfer_to_npu leaves as it is: comparisons with nccl, TorchScript, channels_last."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from porter.engine.rule import Hit, IndexRule, named
from porter.engine.rule_file import Link, RuleFile
from porter.python.assigned import values_of
from porter.python.evidence import call_name
from porter.regex import lazy

_SCRIPTED = frozenset({"torch.jit.script", "torch.jit.script_method"})
_ARCHIVES = frozenset({"torch.jit.save", "torch.jit.load"})
_SAVED = lazy(rb"(?<!torch)\.save\(|\.graph\b|\.code\b")  # what only a script has
_LAYOUTS = frozenset({"torch.channels_last", "torch.channels_last_3d"})


class ShimLimit(IndexRule):
    code = "PRT149"

    def look(self, file: RuleFile) -> Iterator[Hit]:
        known = file.facts.accelerators
        under = file.path in known.shims or file.path in known.under_shims
        imported = b"transfer_to_npu" in file.source.utf8 and _is_imported(file)
        if file.tested or not (under or imported or file.target.shims):
            return
        kept = file.meaning.mentions.of(_ARCHIVES) or _SAVED.search(file.source.utf8)
        yield from _mentioned(_SCRIPTED, "archive" if kept else "script", file)
        if under and not file.target.shims:  # otherwise other rules speak of them
            yield from _mentioned(_LAYOUTS, "layout", file)
            yield from _compared(file)


def _mentioned(names: frozenset[str], why: str, file: RuleFile) -> Iterator[Hit]:
    for link in file.meaning.mentions.of(names):
        yield Hit(link, why, values=named(name=file.names.resolve(link[0], link) or ""))


def _is_imported(file: RuleFile) -> bool:
    links = [*file.buckets[ast.ImportFrom], *file.buckets[ast.Import]]
    return any(alias.name.endswith("transfer_to_npu") for link in links for alias in link[0].names)


def _compared(file: RuleFile) -> Iterator[Hit]:
    """`backend == "nccl"`, `backend in SUPPORTED`, of what the group was started with."""
    for link in file.buckets[ast.Compare]:
        sides = [link[0].left, *link[0].comparators]
        if any(_is_backend(side) for side in sides):
            for side in sides:
                words = _words(side, file, link)
                for word in words if not any(word.value == "hccl" for word in words) else ():
                    yield Hit((word, link), "compared", values=named(old=repr(word.value)))


def _is_backend(node: ast.expr) -> bool:
    if isinstance(node, ast.Call):
        return call_name(node.func) == "get_backend"
    return "backend" in getattr(node, "attr", getattr(node, "id", "")).lower()


def _words(node: ast.expr, file: RuleFile, link: Link) -> list[ast.Constant]:
    if isinstance(node, ast.Name):
        scene: Any = file.scene
        values = [value for value in values_of(scene.names, node, link) if not isinstance(value, ast.Name)]
        return [word for value in values for word in _words(value, file, link)]
    parts = node.elts if isinstance(node, (ast.List, ast.Tuple, ast.Set)) else [node]
    return [part for part in parts if isinstance(part, ast.Constant) and part.value in ("nccl", "hccl")]
