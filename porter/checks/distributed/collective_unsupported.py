"""Collectives that HCCL does not have, and those that torch_npu makes of others."""

from __future__ import annotations

import ast
from typing import Any

from porter.engine.nodes import positional
from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile
from porter.python.assigned import values_of
from porter.python.evidence import call_name
from porter.regex import lazy

MODULES = ("torch.distributed", "torch.distributed.distributed_c10d")
BITWISE = ("BAND", "BOR", "BXOR")
GATHERS = {"gather": 3, "gather_object": 3}  # and where the group stands
REDUCTIONS = {"all_reduce": 0, "reduce": 0, "reduce_scatter_tensor": 1}  # and where the tensor stands
WIDE = {"float64": "float64", "double": "float64", "complex64": "complex64", "complex128": "complex128"}
HOST_TYPE = lazy(r"torch\.[A-Z]\w*Tensor")  # types of tensors that the CPU alone has
ON_HOST = lazy(r"(?i)(?<![a-z])(?:cpu|gloo)(?![a-z])")  # in the name of a group, whoever makes it


class CollectiveUnsupported(Rule):
    code = "PRT208"
    edits = False
    references = frozenset(f"{m}.{kind}.{op}" for m in MODULES for kind in ("ReduceOp", "reduce_op") for op in BITWISE)
    calls = frozenset(f"{m}.{name}" for m in MODULES for name in (*GATHERS, *REDUCTIONS))

    def visit(self, original: Any, updated: Any, file: RuleFile) -> Answer:
        name = file.name(original)
        if name is not None:
            return Hit(original, "bitwise", values=(("name", name.rpartition(".")[2]),))
        name = file.name(original.func) or ""
        position = REDUCTIONS.get(name.rpartition(".")[2])
        if position is None:
            if _is_of_gloo(original, name, file) or _is_on_host(original, file):
                return None
            return Hit(original.func, "gather", values=(("name", name),))
        argument = positional(original, position, ("tensor", "input"))
        given = argument[1] if argument else None
        dtype = file.meaning.dtype(given.value) if given else None
        return Hit(given, "dtype", values=(("name", name), ("dtype", WIDE[dtype]))) if dtype in WIDE else None


def _is_on_host(call: cst.Call, file: RuleFile) -> bool:
    """Whether the tensor was made on the host: `torch.ByteTensor(storage)`."""
    given = positional(call, 0, ("tensor", "obj"))
    name = given[1].value if given is not None and given[1] is not None else None
    if not isinstance(name, cst.Name) or (link := file.link(name)) is None:
        return False
    names: Any = file.names
    made = [names.resolve(value.func, link) for value in values_of(names, link[0], link) if isinstance(value, ast.Call)]
    return any(full is not None and HOST_TYPE.fullmatch(full) for full in made)


def _is_of_gloo(call: cst.Call, name: str, file: RuleFile) -> bool:
    """Whether the group lies on the host: gloo gathers there, whatever the devices are."""
    argument = positional(call, GATHERS[name.rpartition(".")[2]], ("group",))
    if argument is None or argument[1] is None:
        return False
    groups = file.facts.own.gloo_groups
    given = argument[1].value
    named = given.func if isinstance(given, cst.Call) else given
    word = file.text(named).rpartition(".")[2].lstrip("_")
    if word in groups or ON_HOST.search(word):
        return True
    return bool(groups) and isinstance(given, cst.Name) and _is_made_by(given, groups, file)


def _is_made_by(name: cst.Name, makers: tuple[str, ...], file: RuleFile) -> bool:
    """`if group is None: group = host_group()`, of a parameter that may be None, and of nothing else."""
    names: Any = file.names
    link = file.link(name)
    bindings = names.bindings(name.value, link) if link is not None else []
    above = [(at[0], at[1][0]) for at in bindings if at[1]]
    made = [up.value for _, up in above if up.__class__ is ast.Assign]
    parameters = [node for node, _ in above if node.__class__ is ast.arg]
    if not made or len(made) + len(parameters) != len(bindings):
        return False
    return all(v.__class__ is ast.Call and call_name(v.func).lstrip("_") in makers for v in made)
