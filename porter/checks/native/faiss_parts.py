"""Parts of faiss that faiss-cpu lacks, where a file comes to them in any case: `faiss.StandardGpuResources()`."""

from __future__ import annotations

import ast

from porter.engine.rule import Hit, cst
from porter.engine.rule_file import Link, RuleFile
from porter.python.evidence import call_name
from porter.python.index import FUNCTIONS, ancestors
from porter.regex import lazy

_PART = lazy(r"Gpu|StandardGpu|index_(?:cpu_to_(?:all_)?gpu|gpu_to_cpu)|knn_gpu|pairwise_distance_gpu|bfKnn")
_MAY = (ast.If, ast.IfExp, ast.Try, ast.BoolOp, ast.While)


def of_gpus(
    original: cst.Import | cst.ImportFrom, name: str, role: str, values: tuple[tuple[str, str], ...], file: RuleFile
) -> Hit | None:
    """What is said of an import of faiss that has to be the one for GPUs."""
    uses = file.names.uses if name == "faiss" and role == "needed" else ()
    for link in sorted(uses, key=lambda use: use[0].lineno):
        part = _part(file, link) if link[0].id in file.names.imports else ""
        if part and not _is_chosen(file, link, 0):
            return Hit(original, "gpu-part", values=(*values, ("part", part)))
    return None


def _part(file: RuleFile, link: Link) -> str:
    full, above = file.names.root(link[0].id, link) or "", link[1]
    if full == "faiss" and above is not None and above[0].__class__ is ast.Attribute:
        full = f"faiss.{above[0].attr}"
    return full if full.startswith("faiss.") and _PART.match(full.removeprefix("faiss.")) else ""


def _is_chosen(file: RuleFile, link: Link, depth: int) -> bool:
    """Whether a place may be passed by: it stands in a branch, or in a function that is called in one."""
    for up in ancestors(link):
        if isinstance(up[0], _MAY):
            return True
        if isinstance(up[0], FUNCTIONS[:2]):
            calls = (call for call in file.buckets[ast.Call] if call_name(call[0].func) == up[0].name)
            return depth < 2 and any(_is_chosen(file, call, depth + 1) for call in calls)
    return False
