"""Other libraries that a question for a GPU is asked for, told by the keyword that gives them the answer: `net.run(images, num_gpus=n)`
beside an import of dnnlib.tflib is TensorFlow's, `GradCAM(model, layers, use_cuda=args.use_cuda)` calls `.cuda()` itself.

What is called is not looked at: only a keyword that no other call of such a file has belongs here. A package that is switched by a
common word, as by `gpu=True`, belongs to library_switches.py."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from porter.python.index import Link, Node
from porter.regex import lazy

if TYPE_CHECKING:
    from porter.python.file import File

_TENSORFLOW = ("tensorflow", lazy(rb"(?m)^[ \t]*(?:import|from)[ \t]+(?:(?:dnnlib\.)?tflib|tensorflow)\b"))
# by keyword: the library, and how a file imports it
_GIVEN = {
    **dict.fromkeys(("gpus", "n_gpus", "num_gpus", "ngpus"), _TENSORFLOW),
    "use_cuda": ("pytorch_grad_cam", lazy(rb"(?m)^[ \t]*(?:import|from)[ \t]+pytorch_grad_cam\b")),
}

KNOWN = frozenset(library for library, _ in _GIVEN.values())


def library_given(file: File, given: Node) -> str | None:
    """The library that gets a keyword argument; None where it is not one of these, or the file imports nothing of it."""
    known = _GIVEN.get(given.arg) if given.__class__ is ast.keyword else None
    return known[0] if known and file.source.says(known[1]) else None


def given_as_attribute(file: File, target: ast.Attribute) -> str | None:
    """The library that gets what is kept at an attribute: `args.use_cuda`."""
    uses: list[Link] = [link for link in file.buckets.get(ast.Attribute, ()) if link[0].attr == target.attr]
    return next((library for link in uses if link[1] and (library := library_given(file, link[1][0]))), None)
