"""What goes to Ray as a dict, and what comes from it: `options["num_gpus"] = 1`, `{"GPU": 1}`, `node["Resources"]["GPU"]`."""

from __future__ import annotations

import ast
import re
from typing import Any

from porter.engine.nodes import with_keyword
from porter.engine.rule import Hit, cst
from porter.engine.rule_file import Node, RuleFile
from porter.python.asked_of_ray import GPUS, OTHERS
from porter.python.blocks import once_for_file
from porter.python.evidence import call_name, constant
from porter.python.index import ancestors
from porter.regex import lazy

_COUNTED = lazy(r"(?i)resource|bundle")  # node["Resources"]["GPU"], ray.cluster_resources().get("GPU")
_SCALES = lazy(r"ray\.(?:\w+\.)*ScalingConfig")
_OF_A_TRIAL = "resources_per_trial"
_EXPANDED = lazy(rb"\*\*[ \t]*(\w+)")
_HAS_RESOURCES = lazy(rb"\b(\w+)\[[\"']resources[\"']\]")


def asked_by_key(original: cst.Assign, updated: Any, file: RuleFile) -> Hit | None:
    target, value = original.targets[0].target, original.value
    if len(original.targets) != 1 or not isinstance(target, cst.Subscript) or not isinstance(target.value, cst.Name):
        return None
    if getattr(getattr(target.slice[0].slice, "value", None), "raw_value", "") != "num_gpus":
        return None
    if isinstance(value, cst.Integer) and not value.evaluated_value:
        return None
    name = target.value.value.encode()
    if name not in _mappings(file, _EXPANDED):
        return None  # a record of the project, and no arguments
    values = (("old", file.text(value)),)
    if name in _mappings(file, _HAS_RESOURCES):
        return Hit(original, "by-hand", values=values)
    entry = cst.DictElement(cst.SimpleString('"NPU"'), updated.value)
    (asked,) = updated.targets
    key = asked.target.slice[0].slice
    quoted = key.value.with_changes(value=key.value.value.replace("num_gpus", "resources"))
    element = asked.target.slice[0].with_changes(slice=key.with_changes(value=quoted))
    targets = [asked.with_changes(target=asked.target.with_changes(slice=[element]))]
    return Hit(original, "asked", new=updated.with_changes(targets=targets, value=cst.Dict([entry])), values=values)


def scaled(original: cst.Call, updated: cst.Call, file: RuleFile) -> Hit | None:
    """`ScalingConfig(num_workers=8, use_gpu=True)`: Ray Train adds a GPU to what it asks for each worker."""
    keywords = [a.keyword.value if a.keyword else "" for a in original.args]
    if "use_gpu" not in keywords or not _SCALES.fullmatch(file.name(original.func) or ""):
        return None
    index = keywords.index("use_gpu")
    place, asked = original.args[index], file.text(original.args[index].value)
    if asked != "True" or any(a.star for a in original.args):
        return Hit(place, "scaled-by-hand") if asked != "False" else None
    args = list(updated.args)
    args[index] = args[index].with_changes(value=cst.Name("False"))
    new = updated.with_changes(args=args)
    if "resources_per_worker" not in keywords:
        npu = cst.Dict([cst.DictElement(cst.SimpleString('"NPU"'), cst.Integer("1"))])
        new = with_keyword(new, "resources_per_worker", npu)
    return Hit(place, "scaled", new=new)


@once_for_file
def _mappings(file: RuleFile, pattern: re.Pattern[bytes]) -> set[bytes]:
    return {match[1] for match in pattern.finditer(file.source.utf8)}


def is_of_resources(counted: cst.BaseExpression, file: RuleFile) -> bool:
    """`node["Resources"]`, `ray.cluster_resources()`, and `info` of `for node, info in ray.state.available_resources_per_node().items()`."""
    if _COUNTED.search(file.text(counted)):
        return True
    link = file.link(counted) if isinstance(counted, cst.Name) else None
    bound = file.names.bindings(link[0].id, link) if link is not None else []
    around = [next((up[0] for up in ancestors(b) if hasattr(up[0], "iter")), None) for b in bound]
    return bool(around) and all(node is not None and _COUNTED.search(ast.unparse(node.iter)) for node in around)


def bundle(original: cst.Dict, updated: Any, file: RuleFile) -> Hit | None:
    """`{"GPU": 1, "CPU": 4}`, and Tune's `{"gpu": 1, "cpu": 4}`"""
    keys = [getattr(getattr(e, "key", None), "raw_value", "") for e in original.elements]
    asked = next((key for key in GPUS if key in keys), "")
    if not asked or len(keys) > 1 and OTHERS.isdisjoint(keys) or asked == "gpu" and not _is_of_a_trial(original, file):
        return None
    elements, index = list(updated.elements), keys.index(asked)
    entry: Any = original.elements[index]
    if isinstance(entry.value, cst.Integer) and not entry.value.evaluated_value:
        return None
    elements[index] = elements[index].with_changes(key=renamed(elements[index].key))
    return Hit(entry.key, "bundle", new=updated.with_changes(elements=elements))


def renamed(text: cst.SimpleString) -> cst.SimpleString:
    return text.with_changes(value=text.value.replace("GPU", "NPU").replace("gpu", "NPU"))


def _is_of_a_trial(resources: cst.Dict, file: RuleFile) -> bool:
    """`tune.run(f, resources_per_trial={"gpu": 1})`, the same in a dict, and `tune.with_resources(f, {"gpu": 1})`. What Tune does
    not know there is a resource by that name."""
    link = file.scene.link_of(resources, ast.Dict)
    above = [up for up, _ in ancestors(link)][:2]
    if not above:
        return False
    if isinstance(above[0], ast.keyword):
        return above[0].arg == _OF_A_TRIAL or above[0].arg == "resources" and _gives_resources(above[1])
    if isinstance(above[0], ast.Return):
        function = next((up for up, _ in ancestors(link) if isinstance(up, ast.FunctionDef)), None)
        return function is not None and function.name in _resources_of_functions(file)
    if isinstance(above[0], ast.Dict):
        of_keys = zip(above[0].keys, above[0].values)
        return any(link is not None and value is link[0] and constant(key) == _OF_A_TRIAL for key, value in of_keys)
    return _gives_resources(above[0])


def _gives_resources(node: Node) -> bool:
    return isinstance(node, ast.Call) and call_name(node.func) == "with_resources"


@once_for_file
def _resources_of_functions(file: RuleFile) -> frozenset[str]:
    """The functions whose answer is the resources of a trial: `tune.with_resources(f, resources(spec))`."""
    given = (arg for link in file.buckets[ast.Call] if _gives_resources(link[0]) for arg in _given(link[0]))
    return frozenset(call_name(arg.func) for arg in given if isinstance(arg, ast.Call))


def _given(call: ast.Call) -> list[ast.expr]:
    return [*call.args[1:], *(keyword.value for keyword in call.keywords if keyword.arg == "resources")]
