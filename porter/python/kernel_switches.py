"""Settings and methods that put a CUDA kernel in the place of what runs anywhere."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from porter.python.blocks import once_for_file
from porter.python.evidence import call_name, constant, target_name
from porter.python.index import Link, Node, ancestors
from porter.regex import lazy
from porter.rulebook.table import hint, hints

if TYPE_CHECKING:
    from porter.engine.rule_file import RuleFile
    from porter.python.file import File

# of diffusers, which refuses them where there is no CUDA
_SWITCHES = frozenset({"enable_xformers_memory_efficient_attention", "set_use_memory_efficient_attention_xformers"})
_GIVEN, _REPORTERS = hints("goes-to-torch-cuda"), hints("reports-cuda")
# names of settings that choose a CUDA kernel, or an engine that only NVIDIA has
_SETTING = lazy(
    r"(?i)(?:^|_)(?:(?:use|has|have|with|enable|build)_\w*(?:cuda_(?:ext|kernel|op)|flash|xformers|triton|apex)|(?:load_|use_|with_)?(?:trt|tensorrt)(?:_|$))"
)
# of those, and in other words, what no NPU has under any name: it has a flash attention, a Triton and an apex
_FOR_CUDA = lazy(
    r"(?i)cuda_(?:path|kernels?|ext|impl|ops?)(?:_|$)|fast_cuda|(?:^|_)(?:use|with|enable)_\w*(?:xformers|tensorrt|trt)(?:_|$)"
)
_SWITCHED_ON = hint("switches-on-cuda-kernels")
# what stands between a question and what its answer is given to
_ANSWERS = (ast.Compare, ast.BoolOp, ast.Attribute)
_ASKS = ("startswith", "device", "str", "bool")


def given_to_cuda(link: Link | None) -> str:
    """The argument that a value goes to, where the library asks torch.cuda for a device if it is true; else ""."""
    names = (up[0].arg for up in ancestors(link) if up[0].__class__ is ast.keyword)
    return next((name for name in names if name in _GIVEN), "")


@once_for_file
def reports(file: File | RuleFile) -> bool:
    """Whether a file tells what CUDA is on a machine: in a report of it, an NPU is no CUDA."""
    return any(link[0].name in _REPORTERS for link in file.buckets.get(ast.FunctionDef, ()))


def chooses(name: str) -> bool:
    """Whether a name stands for the choice of a kernel: `use_flash_attn`, `load_trt`."""
    return bool(_SETTING.search(name))


def switches(name: str | None) -> bool:
    """Whether a name stands for a kernel that CUDA alone has: `conv_fusion`, `use_fast_cuda_path`."""
    return bool(name and (_FOR_CUDA.search(name) or _SWITCHED_ON.search(name)))


def switched(link: Link) -> str:
    """The setting of such a kernel that is given the answer to a question: `conv_fusion=(device == "cuda")`; else ""."""
    child = link[0]
    for above, _ in ancestors(link):
        if isinstance(above, ast.keyword):
            return above.arg if above.arg and switches(above.arg) else ""
        if isinstance(above, (ast.Assign, ast.AnnAssign)):
            names = map(target_name, above.targets if isinstance(above, ast.Assign) else [above.target])
            return next(filter(switches, names), "")
        if isinstance(above, ast.Dict):
            keys = [constant(key) for key, value in zip(above.keys, above.values) if value is child]
            return next((key for key in keys if isinstance(key, str) and switches(key)), "")
        asks = isinstance(above, ast.Call) and (child is above.func or call_name(above.func) in _ASKS)
        chooses_it = isinstance(above, ast.IfExp) and child is above.test and bool(constant(above.body))
        if not (asks or chooses_it or isinstance(above, _ANSWERS)):
            return ""
        child = above
    return ""


def switched_off(statement: Node) -> str:
    """`load_jit, load_trt = False, False`: the name of such a setting that a statement switches off, else ""."""
    if statement.__class__ is not ast.Assign:
        return ""
    named, given = statement.targets[0], statement.value
    pairs = zip(named.elts, given.elts) if named.__class__ is given.__class__ is ast.Tuple else [(named, given)]
    off = (target for target, value in pairs if getattr(value, "value", None) is False)
    names = (getattr(target, "id", "") or getattr(target, "attr", "") for target in off)
    return next((name for name in names if chooses(name) and "triton" not in name.lower()), "")  # NPUs have a Triton


def switched_on(statement: Node) -> str:
    """`unet.enable_xformers_memory_efficient_attention()`: the name of such a method, where a statement calls it; else ""."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    name = call_name(call.func) if isinstance(call, ast.Call) else ""
    return name if name in _SWITCHES else ""
