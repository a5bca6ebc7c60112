"""`x.double()`, `x.to(torch.float64)`, `torch.zeros(n, dtype=torch.float64, device=d)`, which `dtype=float` is as well: no such type
on an NPU."""

from __future__ import annotations

import ast
from typing import Any, cast

from porter.checks.precision import held_types
from porter.checks.precision.only_sent import is_only_sent
from porter.checks.precision.solver_times import SOLVERS, solved
from porter.checks.precision.tallies import is_share, is_tallied, returns
from porter.checks.precision.written_places import moved, names_cpu, on_cpu, to_device
from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile
from porter.python.evidence import call_name
from porter.python.index import Link
from porter.regex import lazy
from porter.training.buffers import is_of_module
from porter.training.host_copies import lies_on_host
from porter.training.host_values import is_read_as_array, is_reduced
from porter.training.value_uses import is_on_host

DTYPES = frozenset({"torch.float64", "torch.double"})
_DEVICES = lazy(rb"cuda|device|(?<![Ii])npu")  # `input` is none


class Float64Tensor(Rule):
    code = "PRT307"
    edits = False
    references = DTYPES
    calls = SOLVERS
    methods = {"double"}
    nodes = ("Call",)
    text = (r"dtype[ \t]*=[ \t]*float\b", r"to\([ \t]*float[ \t]*\)")

    def visit(self, original: Any, updated: Any, file: RuleFile) -> Answer:
        scene: Any = file.scene
        if isinstance(original, cst.Call):
            func: Any = original.func
            if not isinstance(func, cst.Attribute) or func.attr.value != "double":
                return solved(original, file) or self._of_python(original, file)
            link = scene.link(original)
            if (
                original.args
                or link is None
                or not _may_be_there(link[0].value, link, file)
                or file.receiver(original) in ("other", "own")
                or on_cpu(scene.names, link)
                or lies_on_host(scene, link[0].value, link)
                or is_read_as_array(file.names, link[1])
                or is_tallied(scene, link)
                or is_share(link[1])
                or returns(link[1])
            ):
                return None
            end = file.span(func.attr)[0]
            if b".double()" in file.source.utf8[file.source.starts[file.source.line(end) - 1] : end]:
                return None  # one for a line
            return Hit(original, "cast", values=(("old", file.text(func.attr) + "()"),))
        argument = file.around.argument(original) if isinstance(original, cst.Attribute) else None
        if argument is None and (hit := held_types.defaulted(original, file)):
            return hit
        places = held_types.handed(original, file) if argument is None else [argument]
        why = next(filter(None, (self._why(*place, file) for place in places)), None)
        return Hit(original, why, values=(("old", file.text(original)),)) if why else None

    def _of_python(self, original: cst.Call, file: RuleFile) -> Hit | None:
        """Python's `float`, which torch takes for float64."""
        given = next((arg for arg in original.args if getattr(arg.value, "value", None) == "float"), None)
        link = file.scene.link_of(original, ast.Call)
        if given is None or link is None or not isinstance(given.value, cst.Name):
            return None
        place = given.keyword.value if given.keyword else [*original.args].index(given)
        why = self._why(link, place, file) if file.meaning.is_builtin(given.value) else None
        return Hit(given.value, "python" if why == "made" else why, values=(("old", "to(float)"),)) if why else None

    @staticmethod
    def _why(link: Link, place: str | int, file: RuleFile) -> str | None:
        call, scene = link[0], cast("Any", file.scene)
        callee, name = call_name(call.func), file.names.resolve(call.func, link)
        if name == "torch.set_default_dtype":
            return "default"
        if name is None and callee in ("to", "type"):
            if not _may_be_there(call.func.value, link, file):
                return None
            given = (*call.args, *(k.value for k in call.keywords if k.arg == "device"))
            if place not in (0, 1, "dtype") or any(names_cpu(a, scene.names, link) for a in given):
                return None
            if on_cpu(scene.names, link):
                return None
            stays = lies_on_host(scene, call.func.value, link) and not to_device(call, scene.names, link)
            # torch_npu gives float32 only where no device is named beside the type
            return None if stays else "made" if callee == "to" and given and place != 0 else "cast"
        if place != "dtype" or name is not None and not name.startswith("torch."):
            return None
        if is_only_sent(scene.names, link):
            return None
        device = next((k.value for k in call.keywords if k.arg == "device"), None)
        if device is not None:
            like = device.value if getattr(device, "attr", "") == "device" else None
            host = names_cpu(device, scene.names, link) or like and is_on_host(scene, like, link)
            return None if host or is_reduced(file.names, link) else "made"
        held = held_types.is_held(link) and not held_types.is_kept_number(link, file)
        return "made" if held or moved(scene.names, link) else None


def _may_be_there(node: Any, link: Link, file: RuleFile) -> bool:
    """Whether the file names a device; if it does not, what is cast is a parameter or a buffer, which its users move."""
    scene = cast("Any", file.scene)
    return file.source.says(_DEVICES) or file.facts.roads.device and is_of_module(scene, node, link)
