"""Names of a project that need the extensions which it builds from CUDA sources."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from porter.python.blocks import BODIES, once_for_file, place
from porter.python.index import FUNCTIONS, Link, Node
from porter.regex import lazy

if TYPE_CHECKING:
    from porter.python.file import File


def is_own(file: File, *names: str, words: Sequence[str] = ()) -> bool:
    """Whether one of the names is such an extension, or a class of torch.autograd.Function that calls one; or whether a chain is
    the `apply` of such a class. `words`: of the chain, last word first."""
    native = file.facts.native
    if words[:1] == ["apply"] and words[-1] in native.applied:
        return True
    # `pkg.backend.run` after `import pkg.backend`: only the chain says which module it is
    if len(words) > 2 and native.functions:
        known_as = dict(native.built.names)
        if any(name in native.exports.get(known_as.get(module, module), ()) for name, module in pairwise(words)):
            return True
    return any(name.rpartition(".")[2] in (*native.modules_near(file.path), *native.applied) for name in names)


def is_own_operator(file: File, words: Sequence[str]) -> bool:
    """Whether a chain, last word first, is an operator of the project that ends in a kernel: `torch.ops.shapes.nearest`."""
    if len(words) < 4 or words[-2] != "ops" or not file.facts.native.functions:
        return False
    return words[-4] in file.facts.native.exports.get(f"torch.ops.{words[-3]}", ())


def imports_own(file: File, statement: ast.Import | ast.ImportFrom) -> str | None:
    """The module of the project that a statement imports, and that cannot be imported without such an extension. A package that
    is called as its module is (`fused_conv/fused_conv.py`) hands on what the module has."""
    if not file.facts.native.built.stopping:
        return None
    module = getattr(statement, "module", None)
    for name in [module] if module else [a.name for a in statement.names]:
        way = "/" + name.replace(".", "/")
        for path in file.facts.native.built.stopping:
            stem = "/" + path.removesuffix(".py").removesuffix("/__init__")
            if stem.endswith((way, way + way[way.rfind("/") :])):
                return str(name)
    return None


# a function that looks for libraries of the CUDA toolkit, by its name
_LOADERS = lazy(r"(?i)(?:load|find|add|set_?up|preload|register)_(?:\w*_)?(?:cudnn|nvrtc|cublas|cudart|nvjitlink)")


def imported_below(file: File, branch: Link) -> str | None:
    """The extension of the project that is imported below `if not torch.cuda.is_available(): return`, or a branch that raises;
    tried or not, if it is built with CUDA alone. Or the function itself, if it loads libraries of NVIDIA: `def load_cudnn():`."""
    native, node, owner = file.facts.native, branch[0], branch[1][0]
    if isinstance(owner, FUNCTIONS[:2]) and isinstance(node.body[-1], ast.Return) and _LOADERS.search(owner.name):
        return str(owner.name)
    modules = {*native.modules_near(file.path)} - {*native.plain} if native.modules else set[str]()
    field, index = place(owner, node)
    if not modules or node.orelse or field not in BODIES or not isinstance(node.body[-1], (ast.Return, ast.Raise)):
        return None
    for statement in getattr(owner, field)[index + 1 :]:
        inside = statement.body if isinstance(statement, ast.Try) else [statement]
        for one in inside:
            named = [one.module or ""] if isinstance(one, ast.ImportFrom) else []
            named += [a.name for a in one.names] if isinstance(one, (ast.Import, ast.ImportFrom)) else []
            if name := next((name for name in named if name.rpartition(".")[2] in modules), None):
                return name
    return None


@once_for_file
def applied(file: File) -> dict[str, Node]:
    """What the names of a module apply: `run = Fused.apply`."""
    named = (statement for statement in file.tree.body if isinstance(statement, ast.Assign))
    return {
        statement.targets[0].id: statement.value
        for statement in named
        if isinstance(statement.targets[0], ast.Name) and getattr(statement.value, "attr", "") == "apply"
    }
