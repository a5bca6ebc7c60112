"""Finds scripts that build CUDA extensions: `setup(ext_modules=[CUDAExtension(...)])`. Their "cuda" names sources, and is no device.
And functions that compile such sources: `load_inline("name", cpp, cuda_sources=cuda)`, and branches that set flags for it.

device = "cuda" if CUDA_HOME else "cpu"
source = f"pybind_{device}.cpp"
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from porter.engine.rule_file import RuleFile
from porter.python.blocks import once, once_for_file
from porter.python.evidence import call_name
from porter.python.index import FUNCTIONS, Link, Node, ancestors, walk
from porter.regex import lazy

if TYPE_CHECKING:
    from porter.python.file import File

BUILDER = "CUDAExtension"
_FLAGS = lazy(rb"\w*(?:cuda_(?:c|compile_)?flags|nvcc_(?:args|c?flags))\b")
# what such a script asks of torch; more of it may work on a device
_ASKED = (
    "torch.utils.",
    "torch.cuda.",
    "torch.version.",
    "torch.__",
    "torch.torch_version.",
    "torch.backends.",
    "torch._C.",
    "torch.device",  # of which it asks the capability
)


@once_for_file
def builds_extensions(file: File | RuleFile) -> bool:
    """Whether a file is such a script, and does nothing else with torch."""
    if not file.source.says(BUILDER.encode()) or not any(map(_is_setup, (link[0] for link in file.buckets[ast.Call]))):
        return False
    names = (name for name in file.apis if name.startswith("torch."))
    return all(name.startswith(_ASKED) for name in names)


def compiled(file: File, question: Link) -> str | None:
    """The word that says that a question for a GPU decides about sources of CUDA: `load_inline`, if the function around hands them to
    the compiler, or the flags for it that a branch sets, as `extra_cuda_cflags = ["-O3"]`."""
    if file.source.says(b"cuda_sources") and _compiles_inline(question):
        return "load_inline"
    return _flags(question) if file.source.says(_FLAGS) else None


def _flags(question: Link) -> str | None:
    above: Node = question[1][0] if question[1] else None
    call = above.__class__ is ast.Call and above.func is question[0]
    test, up = (above, question[1][1]) if call else (question[0], question[1])
    branch: Node = up[0] if up else None
    if branch.__class__ is not ast.If or branch.test is not test:
        return None
    stored = (n.id for n in walk(branch) if n.__class__ is ast.Name and n.ctx.__class__ is ast.Store)
    return next((name for name in stored if _FLAGS.fullmatch(name.encode())), None)


def _compiles_inline(question: Link) -> bool:
    function = next((up[0] for up in ancestors(question) if up[0].__class__ in FUNCTIONS), None)
    return function is not None and _compiles(function)


@once
def _compiles(function: Node) -> bool:
    calls = (n for n in walk(function) if n.__class__ is ast.Call and call_name(n.func) == "load_inline")
    sources = (k.value for call in calls for k in call.keywords if k.arg == "cuda_sources")
    return any(getattr(source, "elts", getattr(source, "value", source)) not in (None, []) for source in sources)


def _is_setup(call: ast.Call) -> bool:
    return call_name(call.func) == "setup" or any(keyword.arg == "ext_modules" for keyword in call.keywords)
