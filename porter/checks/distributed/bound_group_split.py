"""A process group that is bound to a device, and a mesh of several dimensions: torch splits the group, HCCL cannot."""

from __future__ import annotations

import ast

from porter.engine.nodes import positional, without_arguments
from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile

_GROUP = {"torch.distributed.init_process_group", "torch.distributed.distributed_c10d.init_process_group"}
_MESH = frozenset(
    f"torch.distributed.{module}init_device_mesh" for module in ("", "device_mesh.", "tensor.", "_tensor.")
)
_CHOICE = frozenset({"torch.cuda.set_device", "torch.accelerator.set_device_index"})
_SINCE = (2, 13)  # of torch, which asks there for any accelerator and no longer for CUDA


class BoundGroupSplit(Rule):
    code = "PRT217"
    calls = _GROUP

    def visit(self, original: cst.Call, updated: cst.Call, file: RuleFile) -> Answer:
        bound = positional(original, None, ("device_id",))
        if bound is None or bound[0] is None or bound[1] is None or file.target.torch < _SINCE:
            return None
        meshes = [link[1][0] for link in file.meaning.mentions.of(_MESH)]
        if not any(map(_has_dimensions, meshes)):
            return None
        # torch raises for certain, and the device is chosen without device_id
        safe = any(map(_shows_dimensions, meshes)) and bool(file.meaning.mentions.of(_CHOICE))
        return Hit(bound[1], "bound", new=without_arguments(original, updated, {bound[0]}), safe=safe)


def _has_dimensions(call: ast.AST) -> bool:
    """Whether the shape that is given has several; one that cannot be seen has."""
    shape = _shape(call)
    return shape is not None and not (isinstance(shape, (ast.Tuple, ast.List)) and len(shape.elts) < 2)


def _shows_dimensions(call: ast.AST) -> bool:
    shape = _shape(call)
    sizes = shape.elts if isinstance(shape, (ast.Tuple, ast.List)) else []
    return sum(not isinstance(size, ast.Starred) for size in sizes) > 1


def _shape(call: ast.AST) -> ast.expr | None:
    if not isinstance(call, ast.Call):
        return None
    return next((word.value for word in call.keywords if word.arg == "mesh_shape"), next(iter(call.args[1:2]), None))
