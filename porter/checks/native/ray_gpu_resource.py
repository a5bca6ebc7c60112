"""`@ray.remote(num_gpus=1)`, `{"GPU": 1}`, `ray.get_gpu_ids()`: to Ray an NPU is a resource called NPU, and no GPU."""

from __future__ import annotations

from typing import Any

from porter.checks.native.ray_options import asked_by_key, bundle, is_of_resources, renamed, scaled
from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile
from porter.python.blocks import once_for_file
from porter.python.uses import imports_of
from porter.regex import lazy

_TAKES = lazy(r"ray\.(?:\w+\.)*(?:remote|init|options)|\w[\w.]*\.(?:options|remote)")
_RAYS_WORDS = (b"placement_group", b"cluster_resources", b"_bundles")  # a module may plan for Ray and import none of it
_SAYS_ONE = lazy(rb"placement_group|cluster_resources|_bundles\b")


@once_for_file
def _is_about_ray(file: RuleFile) -> bool:
    planned = any(word in file.source.vocabulary for word in _RAYS_WORDS) and _SAYS_ONE.search(file.source.utf8)
    return bool(planned or imports_of(file, "ray"))


class RayGpuResource(Rule):
    code = "PRT413"
    nodes = ("Assign", "Call", "Dict", "Subscript")
    text = ("num_gpus", r"\buse_gpu\b", "get_gpu_ids", r"GPU[\"']", r"gpu(?<=[\"']gpu)[\"']")
    only = staticmethod(lambda scene, _: _is_about_ray(scene.file))

    def visit(self, original: cst.Assign | cst.Call | cst.Dict | cst.Subscript, updated: Any, file: RuleFile) -> Answer:
        if not _is_about_ray(file):
            return None
        if isinstance(original, cst.Assign):
            return asked_by_key(original, updated, file)
        if isinstance(original, cst.Dict):
            return bundle(original, updated, file)
        if isinstance(original, cst.Subscript):
            return self._counted(original, updated, original.value, file)
        if file.name(original.func) == "ray.get_gpu_ids":
            return self._ids(original, updated)
        if isinstance(original.func, cst.Attribute) and original.func.attr.value == "get":
            return self._counted(original, updated, original.func.value, file)
        return scaled(original, updated, file) or self._asked(original, updated, file)

    @staticmethod
    def _asked(original: cst.Call, updated: cst.Call, file: RuleFile) -> Hit | None:
        """`@ray.remote(num_gpus=1)`, `Worker.options(num_gpus=0.5)`."""
        index = next((n for n, a in enumerate(original.args) if a.keyword and a.keyword.value == "num_gpus"), None)
        called = file.name(original.func) or file.text(original.func)
        if isinstance(original.func, cst.Attribute) and isinstance(original.func.value, cst.Call):
            called = f"made.{original.func.attr.value}"  # ray.remote(Worker).options(...)
        if index is None or not _TAKES.fullmatch(called):
            return None
        value = original.args[index].value
        if isinstance(value, (cst.Integer, cst.Float)) and not value.evaluated_value:
            return None
        values = (("old", file.text(value)),)
        if called == "ray.init" and imports_of(file, "ray.rllib"):  # the other half is in RLlib's own settings
            return Hit(original.args[index], "rllib", values=values)
        if any(a.keyword and a.keyword.value == "resources" or a.star for a in original.args):
            return Hit(original.args[index], "by-hand", values=values)
        entry = cst.DictElement(cst.SimpleString('"NPU"'), updated.args[index].value)
        args = list(updated.args)
        args[index] = args[index].with_changes(keyword=cst.Name("resources"), value=cst.Dict([entry]))
        return Hit(original.args[index], "asked", new=updated.with_changes(args=args), values=values)

    @staticmethod
    def _counted(original: Any, updated: Any, counted: cst.BaseExpression, file: RuleFile) -> Hit | None:
        if not is_of_resources(counted, file):
            return None
        if isinstance(original, cst.Call):
            key = original.args[0].value if original.args else None
            if getattr(key, "raw_value", "") != "GPU":
                return None
            first, *others = updated.args
            new = updated.with_changes(args=[first.with_changes(value=renamed(first.value)), *others])
            return Hit(key, "bundle", new=new)
        key = getattr(original.slice[0].slice, "value", None)
        if len(original.slice) != 1 or getattr(key, "raw_value", "") != "GPU":
            return None
        (element,) = updated.slice
        index = element.slice.with_changes(value=renamed(element.slice.value))
        return Hit(key, "bundle", new=updated.with_changes(slice=[element.with_changes(slice=index)]))

    @staticmethod
    def _ids(original: cst.Call, updated: Any) -> Hit:
        if not isinstance(original.func, cst.Attribute):  # by a name of its own: nothing here is called ray
            return Hit(original.func, "ids")
        context = cst.Call(cst.Attribute(updated.func.value, cst.Name("get_runtime_context")))
        ids = cst.Call(cst.Attribute(context, cst.Name("get_accelerator_ids")))
        index = cst.SubscriptElement(cst.Index(cst.SimpleString('"NPU"')))
        return Hit(original.func, "ids", new=cst.Subscript(ids, [index], lpar=updated.lpar, rpar=updated.rpar))
