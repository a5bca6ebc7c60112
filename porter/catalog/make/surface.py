"""The names that one version offers, module by module, in the compact form that is shipped.

A module is a dict of its names. A name's value is one letter and, for what can be called, its parameters:
`f` function, `c` class, `v` value, `m` module; `f?` where no Python source names the parameters. A class's members
stand beside it as "Stream.wait_event".
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from typing import Any

from porter.catalog.make.sources import Wheel, Wheels
from porter.catalog.make.static import Entry, Reader

Names = dict[str, dict[str, str]]

NPU_ROOT, CUDA_ROOT = "torch_npu.npu", "torch.cuda"

# Their extension libraries or their start-up code add what `__all__` lists and no Python statement binds: the typed
# tensors of torch.cuda and torch_npu.npu, the operators and late imports of torch_npu.
_ADDED_AT_IMPORT = (CUDA_ROOT, "torch.cuda.sparse", "torch_npu", NPU_ROOT)
# Vendored compilers and the test suite: not what user code calls, and larger than all the rest.
_LEFT_OUT = ("torch_npu.dynamo.torchair", "torch_npu.testing", "torch_npu.profiler.analysis")
# Classes that stand for the same thing inherit from one another here; torch.nn.Module's members would only be noise.
_INHERIT_FROM = ("torch.amp", "torch.autocast_mode", "torch.cuda", "torch_npu")
_ROOTS = (("module", "torch"), ("module", "torch_npu"))  # imported everywhere, and nobody's own name
_LETTER = {"function": "f", "class": "c", "value": "v", "module": "m"}
_DUNDERS = ("__enter__", "__exit__", "__call__")


def npu_names(torch_npu: Wheel, torch: Wheel, custom: dict[str, dict[str, list[Any]]]) -> Names:
    wheels = Wheels([torch_npu, torch])
    reader = Reader(wheels, _INHERIT_FROM)
    modules = [m for m in wheels.below("torch_npu") if _offered(m)]
    names = {module: _module(reader, module, ("torch_npu",)) for module in modules}
    for name in sorted({*public_operators(torch_npu), *custom}):  # the others are there as well, only not in `__all__`
        overloads = list(custom.get(name, {}).values())
        # where there are several, a call may mean any of them
        written = "f" + (schema_parameters(overloads[0][0]) if len(overloads) == 1 else "?")
        names["torch_npu"].setdefault(name, written)
    return names


def schema_parameters(schema: str) -> str:
    """`(Tensor input, *, float eps=1e-6) -> Tensor` as `input,*,eps`."""
    inside = schema.rpartition(" -> ")[0].strip()[1:-1]
    parts = re.split(r",\s*(?![^\[(]*[\])])", inside) if inside else []
    return ",".join(part.partition("=")[0].split()[-1] for part in parts)


def cuda_names(torch: Wheel) -> Names:
    wheels = Wheels([torch])
    reader = Reader(wheels, _INHERIT_FROM)
    return {module: _module(reader, module, (CUDA_ROOT, "torch.amp")) for module in wheels.below(CUDA_ROOT)}


def _offered(module: str) -> bool:
    """Private modules count below torch_npu.npu alone: code written for torch.cuda reaches for their counterparts."""
    if _below(module, (NPU_ROOT,)):
        return True
    return "._" not in module and not _below(module, _LEFT_OUT)


def _module(reader: Reader, name: str, prefixes: tuple[str, ...]) -> dict[str, str]:
    """What belongs to the module: what is defined below `prefixes`, and what `__all__` promises."""
    module = reader.module(name)
    exported = module.exported or []
    names: dict[str, str] = {}
    for key in sorted({*module.names, *exported}):
        entry = module.names.get(key)
        if entry is not None and entry.kind == "foreign":
            entry = reader.lookup(entry.home) or entry
        elif entry is None:
            entry = reader.imported(name, key)  # a submodule that only `__all__` mentions
        if key.startswith("__"):
            continue
        if entry is None:
            if name in _ADDED_AT_IMPORT:
                names[key] = "c?" if key.endswith(("Tensor", "Storage")) else "f?"
        elif key in exported or _below(entry.home, prefixes) and (entry.kind, entry.home) not in _ROOTS:
            names |= _encode(key, entry)
    return names


def _encode(key: str, entry: Entry) -> dict[str, str]:
    if entry.kind == "foreign":
        return {key: "v"}
    if entry.kind == "module":
        return {key: f"m{entry.home}"}
    names = {key: _LETTER[entry.kind]}
    if entry.kind in ("function", "class"):
        names[key] += "?" if entry.parameters is None else ",".join(entry.parameters)
    for member in sorted(entry.members):
        if not member.startswith("__") or member in _DUNDERS:
            names |= _encode(f"{key}.{member}", entry.members[member])
    return names


def _below(home: str, roots: Iterable[str]) -> bool:
    return any(home == root or home.startswith(root + ".") for root in roots)


def public_operators(torch_npu: Wheel) -> list[str]:
    """Operators are added to torch_npu by name when it is imported; one literal list names the public ones."""
    tree = torch_npu.parse("torch_npu.utils.exposed_api")
    for node in tree.body if tree else ():
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "public_npu_functions":
            return sorted(ast.literal_eval(node.value))
    return []
