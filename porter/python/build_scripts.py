"""Finds scripts that build CUDA extensions: `setup(ext_modules=[CUDAExtension(...)])`. Their "cuda" names sources, and is no device.

device = "cuda" if CUDA_HOME else "cpu"
source = f"pybind_{device}.cpp"
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from porter.engine.rule_file import RuleFile
from porter.python.blocks import once_for_file
from porter.python.evidence import call_name

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


def _is_setup(call: ast.Call) -> bool:
    return call_name(call.func) == "setup" or any(keyword.arg == "ext_modules" for keyword in call.keywords)
