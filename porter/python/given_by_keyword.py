"""Other libraries that a question for a GPU is asked for, told by the keyword that gives them the answer: `net.run(images, num_gpus=n)`
beside an import of dnnlib.tflib is TensorFlow's, `GradCAM(model, layers, use_cuda=args.use_cuda)` calls `.cuda()` itself.

What is called may be anything but a function of torch, or of a package that works with it on NPUs: only a keyword that no other call of
such a file has belongs here. A package that is switched by a common word, as by `gpu=True`, belongs to library_switches.py."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from porter.python.blocks import once_for_file
from porter.python.index import Link, Node

if TYPE_CHECKING:
    from porter.python.file import File

_TENSORFLOW = ("tensorflow", ("tensorflow", "tflib", "dnnlib.tflib"))
# by keyword: the library, and what a file imports of it
_GIVEN = {
    **dict.fromkeys(("gpus", "n_gpus", "num_gpus", "ngpus"), _TENSORFLOW),
    "use_cuda": ("pytorch_grad_cam", ("pytorch_grad_cam",)),
}

KNOWN = frozenset(library for library, _ in _GIVEN.values())


def library_given(file: File, call: Link, given: Node) -> str | None:
    """The library that gets a keyword argument of a call; None where it is not one of these, or the file imports nothing of it."""
    known = _GIVEN.get(given.arg) if given.__class__ is ast.keyword else None
    if known is None or not any(f"{name}.".startswith(f"{module}.") for name in _imported(file) for module in known[1]):
        return None
    return None if _is_ported(file, (file.names.resolve(call[0].func, call) or "").partition(".")[0]) else known[0]


def _is_ported(file: File, package: str) -> bool:
    """Whether a package takes an answer about NPUs: `ray.init(num_gpus=n)`, `Trainer(gpus=n)` of pytorch_lightning."""
    row = file.rules.tables.packages.get(package)
    return package == "torch" or row is not None and row.status in ("native", "plugin")


@once_for_file
def _imported(file: File) -> frozenset[str]:
    """The full names of what a file imports."""
    modules = {alias.name for link in file.buckets[ast.Import] for alias in link[0].names}
    statements = (link[0] for link in file.buckets[ast.ImportFrom] if not link[0].level)
    return frozenset(modules | {f"{node.module}.{alias.name}" for node in statements for alias in node.names})


def given_as_attribute(file: File, target: ast.Attribute) -> str | None:
    """The library that gets what is kept at an attribute: `args.use_cuda`."""
    uses: list[Link] = [link for link in file.buckets.get(ast.Attribute, ()) if link[0].attr == target.attr]
    given = (link[1] for link in uses if link[1] and link[1][0].__class__ is ast.keyword and link[1][1])
    return next((library for up in given if up[1] and (library := library_given(file, up[1], up[0]))), None)
