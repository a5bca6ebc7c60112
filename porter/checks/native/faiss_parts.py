"""Parts of faiss that faiss-cpu lacks, where a file comes to them in any case: `faiss.StandardGpuResources()`."""

from __future__ import annotations

import ast

from porter.engine.rule import Hit, cst
from porter.engine.rule_file import Link, RuleFile
from porter.python.evidence import call_name
from porter.python.index import FUNCTIONS, ancestors
from porter.regex import lazy

# A part that is named here needs a word of the hint `faiss-on-a-gpu` (rules/hints.toml) as well: by that hint, asked in
# `asked_packages.py`, PRT401 (`gpu_package.py`) decides whether the import is told at all.
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
    """Whether a place may be passed by: it stands in a branch, or in a function of which every call does. Of a method one such call
    is enough: nobody knows whose method another call of its name means."""
    for up in ancestors(link):
        if isinstance(up[0], _MAY):
            return True
        if isinstance(up[0], FUNCTIONS[:2]):
            is_method = up[1] is not None and up[1][0].__class__ is ast.ClassDef
            calls = [call for call in file.buckets[ast.Call] if call_name(call[0].func) == up[0].name]
            if not is_method:
                calls = [call for call in calls if call[0].func.__class__ is ast.Name]
            chosen = (_is_chosen(file, call, depth + 1) for call in calls)
            return depth < 2 and bool(calls) and (any(chosen) if is_method else all(chosen))
    return False
