"""Says whether TorchScript may compile a statement: it knows PyTorch's own names there, and none that a port brings."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from porter.files.paths import is_test
from porter.python.index import FUNCTIONS, Link, Node, ancestors, walk

if TYPE_CHECKING:
    from porter.python.file import File

_SCRIPT = frozenset(  # names in code that TorchScript compiles
    f"torch.jit.{name}"
    for name in "script script_method script_if_tracing ScriptModule export ignore unused annotate".split()
)
_KEPT_OUT = frozenset({"torch.jit.ignore", "torch.jit.unused"})  # decorators of functions that it leaves to Python
_MARKS = frozenset(  # decorators of functions that it compiles
    f"torch.jit.{name}" for name in ("script", "script_method", "script_if_tracing", "export")
)
_WITHIN = frozenset({"torch.jit.is_scripting", "torch.jit.annotate"})  # what only functions say that it compiles
_MAKERS = frozenset(  # functions that make or load scripts; the function that calls one is no script itself
    {"torch.jit.script", "torch.jit.trace", "torch.jit.trace_module", "torch.jit.save", "torch.jit.load"}
)
# statements that it does not compile
_UNCOMPILED = frozenset({ast.Try, ast.Yield, ast.YieldFrom, ast.Lambda, ast.Global, ast.Nonlocal, ast.ClassDef})
# what no script can call: a function that does is Python's
_UNKNOWN = frozenset("argparse datetime glob io json logging numpy os pickle random shutil subprocess sys time".split())
_COLLECTIVES = "torch.distributed."


def is_scripted(file: File, statement: Node) -> bool:
    """It does not compile code at the top level or in `__init__`, nor functions that make scripts themselves or are kept out of
    scripts, nor those that call what no script knows; one that asks `is_scripting()` calls it beside the script."""
    if not file.meaning.mentions.of(_SCRIPT):
        return False
    around = _function(file, statement)
    if around is None or around[0].name == "__init__":
        return False
    function = around[0]
    known: dict[Node, bool] = file.answers["scripted"]
    if function not in known:
        decorators = set(_decorators(file, around))
        known[function] = not decorators.isdisjoint(_MARKS) or not (
            _says(file, function, _MAKERS)
            or _only_tests(file, around)
            or not decorators.isdisjoint(_KEPT_OUT)
            or not _says(file, function, _WITHIN)
            and (_is_refused(function) or _calls_unknown(file, around))
        )
    return known[function]


def _function(file: File, statement: Node) -> Link | None:
    """The innermost function around a statement, or that itself. Not all statements have links, so it is found by its lines."""
    links = [link for kind in FUNCTIONS[:2] for link in file.buckets.get(kind, ())]
    written: Node = getattr(statement, "pattern", statement)  # a case has no line but that of its pattern
    around = [link for link in links if link[0].lineno <= written.lineno <= link[0].end_lineno]
    return max(around, key=lambda link: link[0].lineno, default=None)


def _says(file: File, function: Node, names: frozenset[str]) -> bool:
    return any(function.lineno < m[0].lineno <= function.end_lineno for m in file.meaning.mentions.of(names))


def _only_tests(file: File, around: Link) -> bool:
    """Whether a function of a test file is no script of it: none is made of its name, and it belongs to no module."""
    if not is_test(file.path) or _says(file, around[0], _WITHIN):
        return False
    owner = next((above for above, _ in ancestors(around) if above.__class__ is ast.ClassDef), None)
    if owner is not None:
        return not any(ast.unparse(base).endswith("Module") for base in owner.bases)
    makers = (mention[1] for mention in file.meaning.mentions.of(_MAKERS) if mention[1] is not None)
    given = {getattr(arg, "id", "") for maker in makers for arg in getattr(maker[0], "args", ())}
    return around[0].name not in given


def _is_refused(function: Node) -> bool:
    """Whether it has parameters or statements that TorchScript does not compile."""
    if function.args.vararg is not None or function.args.kwarg is not None:
        return True
    return any(node.__class__ in _UNCOMPILED for statement in function.body for node in walk(statement))


def _decorators(file: File, around: Link) -> Iterator[str]:
    for decorator in around[0].decorator_list:  # `@torch.jit.ignore(drop=True)`
        yield file.names.resolve(getattr(decorator, "func", decorator), around) or ""


def _calls_unknown(file: File, around: Link) -> bool:
    """The body alone is asked: decorators are Python's."""
    resolve = file.names.resolve
    functions = (node.func for statement in around[0].body for node in walk(statement) if hasattr(node, "func"))
    names = (resolve(func, around) or "" for func in functions)
    return any(name.partition(".")[0] in _UNKNOWN or name.startswith(_COLLECTIVES) for name in names)
