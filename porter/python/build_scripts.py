"""Finds scripts that build CUDA extensions: `setup(ext_modules=[CUDAExtension(...)])`. Their "cuda" names sources, and is no device.
And functions that compile such sources: `load_inline("name", cpp, cuda_sources=cuda)`.

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

if TYPE_CHECKING:
    from porter.python.file import File

BUILDER = "CUDAExtension"
# what such a script asks of torch; more of it may work on a device
_ASKED = (
    "torch.utils.",
    "torch.cuda.",
    "torch.version.",
    "torch.__",
    "torch.torch_version.",
    "torch.backends.",
    "torch._C.",
)


@once_for_file
def builds_extensions(file: File | RuleFile) -> bool:
    """Whether a file is such a script, and does nothing else with torch."""
    if not file.source.says(BUILDER.encode()) or not any(map(_is_setup, (link[0] for link in file.buckets[ast.Call]))):
        return False
    names = (name for name in file.apis if name.startswith("torch."))
    return all(name.startswith(_ASKED) for name in names)


def compiles_inline(question: Link) -> bool:
    """Whether the function around a question for a GPU hands sources of CUDA to the compiler: the answer decides about them."""
    function = next((up[0] for up in ancestors(question) if up[0].__class__ in FUNCTIONS), None)
    return function is not None and _compiles(function)


@once
def _compiles(function: Node) -> bool:
    calls = (n for n in walk(function) if n.__class__ is ast.Call and call_name(n.func) == "load_inline")
    sources = (k.value for call in calls for k in call.keywords if k.arg == "cuda_sources")
    return any(getattr(source, "elts", getattr(source, "value", source)) not in (None, []) for source in sources)


def _is_setup(call: ast.Call) -> bool:
    return call_name(call.func) == "setup" or any(keyword.arg == "ext_modules" for keyword in call.keywords)
