"""Finds questions for a GPU that choose what a library brings for it: a provider of onnxruntime, which no NPU has
(`providers.insert(0, "CUDAExecutionProvider")`), or a build of a package."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from porter.python.evidence import call_name, constant, is_log
from porter.python.index import Link, Node, ancestors, walk
from porter.regex import lazy

if TYPE_CHECKING:
    from porter.engine.rule_file import RuleFile

_PROVIDERS = frozenset({"CUDAExecutionProvider", "TensorrtExecutionProvider"})

_DEVICE = lazy("(?:cuda|gpu|cpu)(?::|$)")  # what a library runs on, and no package


def provider(file: RuleFile, literal: Link) -> str | None:
    """The provider that a comparison with the string at `literal` chooses, if its branch does nothing else."""
    if not file.source.says(b"ExecutionProvider"):
        return None
    child = literal[0]
    for up in ancestors(literal):
        above = up[0]
        if above.__class__ in (ast.If, ast.IfExp):
            if child is not above.test:
                return None
            if above.__class__ is ast.IfExp and {constant(above.body), constant(above.orelse)} == {True, False}:
                child = above
                continue  # the answer itself
            return _chosen(above.body if above.__class__ is ast.If else [above.body])
        if isinstance(above, ast.stmt):
            return _by_answer(file, up) if isinstance(above, ast.Assign) else None
        child = above
    return None


def _chosen(branch: list[Node]) -> str | None:
    named = [_named(part) for part in branch if not _logs(part)]
    return named[0] if named and all(named) else None


def _logs(statement: Node) -> bool:
    call = getattr(statement, "value", None)
    return isinstance(call, ast.Call) and is_log(call.func, call_name(call.func))


def _by_answer(file: RuleFile, assign: Link) -> str | None:
    """The same where a name holds the answer: each `if` that asks it sets a provider, or logs."""
    targets = assign[0].targets
    if len(targets) != 1 or not isinstance(targets[0], ast.Name):
        return None
    found: list[str] = []
    for reader in file.names.readers(targets[0].id, (targets[0], assign)):
        asked = next((up[0] for up in ancestors(reader) if isinstance(up[0], ast.stmt)), None)
        if not isinstance(asked, ast.If) or not any(node is reader[0] for node in walk(asked.test)):
            return None
        if (one := _chosen(asked.body)) is not None:
            found.append(one)
        elif not all(map(_logs, asked.body)):
            return None
    return next(iter(found), None)


def chooses(use: Link) -> bool:
    """Whether a device is only compared, for a provider: `["CPUExecutionProvider"] if device == "cpu" else ["CUDAExecutionProvider"]`."""
    comparison = use[1]
    choice = comparison and comparison[1]
    if comparison is None or not isinstance(comparison[0], ast.Compare) or choice is None:
        return False
    if not isinstance(choice[0], ast.IfExp) or choice[0].test is not comparison[0]:
        return False
    return any(_named(side) for side in (choice[0].body, choice[0].orelse))


def _named(part: Node) -> str | None:
    """The first of these providers that a statement or an expression names."""
    return next((str(value) for node in walk(part) if (value := constant(node)) in _PROVIDERS), None)


def why_kept(link: Link | None, library: str, file: RuleFile) -> str:
    """The message for a question that another library's use of CUDA hangs on. `"onnxruntime-gpu" if torch.cuda.is_available() else
    "onnxruntime"`: what is named without a GPU is there, too."""
    if library in file.facts.roads.switched:
        return "switch"
    while link is not None and link[0].__class__ in (ast.Name, ast.Attribute, ast.Call):
        link = link[1]
    sides = (link[0].body, link[0].orelse) if link is not None and link[0].__class__ is ast.IfExp else ()
    texts = [constant(side) for side in sides]
    named = bool(texts) and all(isinstance(text, str) and not _DEVICE.match(text) for text in texts)
    return "chosen-package" if named else "asked-elsewhere"
