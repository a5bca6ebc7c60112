"""`os.environ["CUDA_VISIBLE_DEVICES"] = ...` after the device was asked for: the runtime has read it already."""

from __future__ import annotations

import ast
from functools import partial
from typing import Any

from porter.checks.distributed import environment_values
from porter.checks.distributed.numbers_of_devices import numbered_twice
from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import Link, Node, RuleFile
from porter.python.blocks import once_for_file
from porter.python.evidence import constant
from porter.python.index import ancestors
from porter.regex import lazy

QUESTIONS = ("is_available", "device_count", "is_initialized", "is_bf16_supported")
READ_ONCE = frozenset({"CUDA_VISIBLE_DEVICES", "CUDA_LAUNCH_BLOCKING", "PYTORCH_CUDA_ALLOC_CONF"})
# what the port has, and no stanza renames: torch_npu's own settings, and those of HCCL
OF_NPUS = lazy(
    r"TASK_QUEUE_ENABLE$|INF_NAN_MODE_ENABLE$|PYTORCH_NPU_ALLOC_CONF$|ASCEND_(?:RT_VISIBLE_DEVICES|LAUNCH_BLOCKING)$"
)
_SPAWNS = lazy(rb"\bspawn\(|\bstart_processes\(")
OF_HCCL = lazy(r"HCCL_[A-Z0-9_]+$")


class EnvironmentTooLate(Rule):
    code = "PRT214"
    edits = False
    literals = {"variable"}
    nodes = ("Assign",)
    text = r"environ\[[\"'](?:TASK_QUEUE|INF_NAN|PYTORCH_NPU|ASCEND_|HCCL_)"

    def visit(self, original: cst.BaseString | cst.Assign, updated: Any, file: RuleFile) -> Answer:
        if isinstance(original, cst.Assign):
            return _of_npus(original, file)
        literal = file.literal(original)
        if literal is None or literal.kind != "variable" or literal.name not in READ_ONCE or not literal.set:
            return None
        if literal.role == "command" or _is_of_a_child(literal.link, file):
            return None
        if literal.name.endswith("_VISIBLE_DEVICES") and (index := numbered_twice(literal.link, file)):
            return Hit(original, "numbered", values=(("name", index),))
        touched = file.tensors.touched_before(literal.link)
        if touched is None or touched.endswith(".device_count") and environment_values.names_all(literal.link, file):
            return None
        if literal.name.endswith("_VISIBLE_DEVICES") and touched.endswith(".device_count") and _spawns(file):
            return None
        return Hit(original, _why(literal.name, touched), values=(("name", touched),))


@once_for_file
def _spawns(file: RuleFile) -> bool:
    """Whether the file starts the processes that compute: they read the variable anew."""
    if not file.source.says(_SPAWNS):
        return False
    called = (file.names.resolve(link[0].func, link) for link in file.buckets[ast.Call])
    return any(name in ("torch.multiprocessing.spawn", "torch.multiprocessing.start_processes") for name in called)


def _why(name: str, touched: str) -> str:
    called = touched.rpartition(".")[2]
    if called == "set_device" and name.endswith("_VISIBLE_DEVICES"):
        return "chosen"  # it starts CUDA, too: a GPU ignores the variable as well
    return "asked" if called in QUESTIONS else "late"


def _of_npus(original: cst.Assign, file: RuleFile) -> Hit | None:
    """`os.environ["TASK_QUEUE_ENABLE"] = "2"`"""
    link = file.scene.link_of(original, ast.Assign)
    target: Node = link[0].targets[0] if link is not None and len(link[0].targets) == 1 else None
    if link is None or not isinstance(target, ast.Subscript):
        return None
    if file.names.resolve(target.value, link) != "os.environ":
        return None
    name, at = str(constant(target.slice)), original.targets[0].target
    if OF_NPUS.match(name) and (touched := file.tensors.touched_before(link)) is not None:
        return Hit(at, _why(name, touched), values=(("name", touched),))
    if OF_HCCL.match(name) and (grouped := file.tensors.grouped_before(link)) is not None:
        return Hit(at, "grouped", values=(("name", grouped),))
    return None


def _is_of_a_child(link: Link, file: RuleFile) -> bool:
    """Whether the variable stands in what a process is started with, `Popen(..., env={...})`: it reads it on its own start."""
    for above, up in ancestors(link):
        if isinstance(above, ast.keyword) and above.arg == "env":
            return True
        target = _mapping(above)
        if target is not None:
            if (in_copy := environment_values.is_in_copy(target, (target, up), file)) is not None:
                return in_copy
            uses = file.names.readers(target.id, (target, up))
            return file.names.once("PRT214 handed", uses, partial(_are_handed, uses))
    return False


def _mapping(statement: Node) -> ast.Name | None:
    """`env` of `env = {...}` and of `env["CUDA_VISIBLE_DEVICES"] = ...`."""
    targets = statement.targets if isinstance(statement, ast.Assign) else ()
    target = targets[0] if len(targets) == 1 else None
    target = target.value if isinstance(target, ast.Subscript) else target
    return target if isinstance(target, ast.Name) else None


def _are_handed(uses: list[Link]) -> bool:
    return any(map(_is_handed, uses))


def _is_handed(use: Link) -> bool:
    return any(isinstance(above, ast.keyword) and above.arg == "env" for above, _ in ancestors(use))
