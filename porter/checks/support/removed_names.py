"""`from torch._utils import _accumulate`: names that were torch's own, which programs took all the same, and that are gone."""

from __future__ import annotations

from typing import Any

from porter.checks.device.import_parts import renamed, split
from porter.engine.nodes import chain, dotted
from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile
from porter.versions import release

_LOADER, _COLLATE = "torch.utils.data.dataloader", "torch.utils.data._utils.collate"
_LINEAR = ("torch.nn.modules.linear", "NonDynamicallyQuantizableLinear")
# by the name: the module and the name of what is the same
_MOVED = {
    "torch._utils._accumulate": ("itertools", "accumulate"),
    "torch.nn.modules.activation._LinearWithBias": _LINEAR,
    "torch.nn.modules.linear._LinearWithBias": _LINEAR,
    "torch._overrides.handle_torch_function": ("torch.overrides", "handle_torch_function"),
    "torch._overrides.has_torch_function": ("torch.overrides", "has_torch_function"),
    f"{_COLLATE}.container_abcs": ("collections", "abc"),
}
# what does its work, where that is written otherwise
_INSTEAD = {
    "torch.nn.functional._gumbel_softmax_sample": "torch.nn.functional.gumbel_softmax",
    "torch.nn.functional._sample_gumbel": "torch.nn.functional.gumbel_softmax",
    "torch.distributed.distributed_c10d._check_default_pg": "torch.distributed.is_initialized()",
    "torch.distributed.distributed_c10d._default_pg": "torch.distributed.group.WORLD",
    f"{_COLLATE}.int_classes": "int",
    f"{_COLLATE}.string_classes": "(str, bytes)",
    f"{_COLLATE}._use_shared_memory": "torch.utils.data.get_worker_info() is not None",
    f"{_LOADER}._use_shared_memory": "torch.utils.data.get_worker_info() is not None",
    f"{_LOADER}._DataLoaderIter": f"{_LOADER}._MultiProcessingDataLoaderIter",
    f"{_LOADER}.DataLoaderIter": f"{_LOADER}._MultiProcessingDataLoaderIter",
    f"{_LOADER}._worker_loop": "torch.utils.data._utils.worker._worker_loop",
    f"{_LOADER}.pin_memory_batch": "torch.utils.data._utils.pin_memory.pin_memory",
}
_SINCE = {"torch._utils._accumulate": "2.3"}  # the others are gone from every torch that has a torch_npu


def _is_gone(name: str, file: RuleFile) -> bool:
    if name not in _MOVED and name not in _INSTEAD:
        return False
    return release(file.session.catalogue.torch) >= release(_SINCE.get(name, "0"))


class RemovedNames(Rule):
    code = "PRT719"
    references = frozenset({*_MOVED, *_INSTEAD})
    nodes = ("ImportFrom",)
    text = r"\btorch\.(?:_utils|_overrides|nn\.functional|nn\.modules\.\w+|distributed\.\w+|utils\.data\.[\w.]+)[ \t]+import\b"

    def visit(self, original: cst.Attribute | cst.Name | cst.ImportFrom, updated: Any, file: RuleFile) -> Answer:
        if isinstance(original, cst.ImportFrom):
            return self._statement(original, updated, file)
        if not isinstance(original, cst.Attribute) or not file.around.is_read(original):
            return None  # the import answers for its names
        name = file.name(original) or ""
        if not _is_gone(name, file) or file.imported.optional(original):
            return None
        return Hit(original, "default", values=(("name", name), ("new", _instead(name))))

    @staticmethod
    def _statement(original: cst.ImportFrom, updated: cst.ImportFrom, file: RuleFile) -> Hit | None:
        if original.relative or original.module is None or isinstance(original.names, cst.ImportStar):
            return None
        module = ".".join(chain(original.module))
        names = [f"{module}.{alias.name.value}" for alias in original.names]
        gone = {index: name for index, name in enumerate(names) if _is_gone(name, file)}
        if not gone or file.imported.import_guard() or file.imported.asked_first():
            return None
        values = (("name", "`, `".join(gone.values())), ("new", "`, `".join(map(_instead, gone.values()))))
        targets = {_MOVED[name][0] if name in _MOVED else "" for name in gone.values()}
        if len(targets) > 1 or "" in targets:
            return Hit(original, "default", values=values)
        [target] = targets
        aliases: Any = updated.names
        moved = {index: renamed(aliases[index], _MOVED[name][1]) for index, name in gone.items()}
        if len(moved) == len(names):
            new = updated.with_changes(module=dotted(target), names=[*moved.values()])
            return Hit(original, "default", new=new, safe=True, values=values)
        kept, line = split(updated, moved, target)
        return Hit(original, "default", new=kept, safe=True, after=(line,), values=values)


def _instead(name: str) -> str:
    return ".".join(_MOVED[name]) if name in _MOVED else _INSTEAD[name]
