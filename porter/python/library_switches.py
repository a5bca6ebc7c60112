"""Arguments by which a package from elsewhere is told to use a GPU: `Reader(["en"], gpu=torch.cuda.is_available())`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from porter.python.evidence import constant
from porter.python.index import Link, Node
from porter.regex import rare

if TYPE_CHECKING:
    from porter.python.file import File

_SWITCHES = frozenset({"use_gpu", "use_cuda", "gpu", "cuda"})
# each written out, as hardly a text has one with its sign
_NAMED = rare(rb"\bgpu=|\bcuda=|\buse_gpu=|\buse_cuda=")


def is_named(text: bytes) -> bool:
    """Whether a text gives a call such an argument."""
    return _NAMED.search(text) is not None


def switched(file: File, call: Link, given: Node) -> str | None:
    """The package that the function or the object called here is of, if `given` is such an argument of the call."""
    packages = file.facts.roads.switched
    if not packages or given.__class__ is not ast.keyword or given.arg not in _SWITCHES:
        return None
    return next((root for root in _roots(file, call) if root in packages), None)


def switched_on(file: File, call: Link) -> str | None:
    """The same for a call that says yes: `model.load(path, use_gpu=True)`."""
    given = (keyword for keyword in call[0].keywords if constant(keyword.value) is True)
    return next((package for keyword in given if (package := switched(file, call, keyword))), None)


def _roots(file: File, call: Link) -> list[str]:
    """The first word of the full name that is called; of a method, that of what its object was made by."""
    func: Node = call[0].func
    if (name := file.names.resolve(func, call)) is not None:
        return [name.partition(".")[0]]
    holder: Node = getattr(func, "value", None)
    if holder.__class__ is not ast.Name:
        return []
    bound = file.names.bindings(holder.id, (holder, call))
    makers = (getattr(getattr(binding[1] and binding[1][0], "value", None), "func", None) for binding in bound)
    names = (file.names.resolve(maker, call) for maker in makers if maker is not None)
    return [(name or "").partition(".")[0] for name in names]
