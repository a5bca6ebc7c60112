"""Finds Python files that hold nothing but settings: `dist_params = dict(backend="nccl")`. Nothing imports them, as a program reads
them by their path.

A program is searched in the folder of such a file and above. If the first folder with one has programs for torch and none for
another framework, the settings are for torch.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator, Mapping

from porter.files.paths import is_test
from porter.project.entry_scripts import is_guarded
from porter.python.evidence import asks_for_main
from porter.python.trees import parse
from porter.regex import lazy

# how a line of something else than settings begins
_RUNS = lazy(rb"(?m)^(?:def|class|async|for|while|with|try|print|raise|assert|@)\b")
_NAMED = (b".cuda", b'"cuda', b"'cuda", b'"nccl', b"'nccl")
_KINDS = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Import, ast.ImportFrom, ast.Delete)


def settings_for_torch(
    paths: Collection[str], texts: Mapping[str, bytes], bearers: Collection[str], is_other: Callable[[str], bool]
) -> set[str]:
    """Those of `paths` that are settings of a program for torch; `bearers`: the files that load torch; `is_other`: whether a file
    computes with something else."""
    settings = [path for path in paths if not is_test(path) and not is_other(path) and _is_settings(texts[path])]
    if not settings:
        return set()
    with_torch = {folder for path in bearers for folder in _above(path)}
    with_others = {folder for path in texts if is_other(path) for folder in _above(path)}
    homes = {path: next((f for f in _above(path) if f in with_torch or f in with_others), None) for path in settings}
    return {path for path, home in homes.items() if home is not None and home not in with_others}


def read_by_cuda(settings: Collection[str], texts: Mapping[str, bytes], bearers: Collection[str]) -> tuple[str, ...]:
    """The settings, where a program that loads torch names CUDA itself: its port loads torch_npu before it reads them."""
    programs = (texts[path] for path in sorted(bearers) if settings)
    ported = any(any(word in text for word in _NAMED) and is_guarded(text) for text in programs)
    return tuple(sorted(settings)) if ported else ()


def _is_settings(text: bytes) -> bool:
    if _RUNS.search(text) or (tree := parse(text)) is None:
        return False
    statements = list(_chosen(tree.body))
    return any(isinstance(s, ast.Assign) for s in statements) and all(isinstance(s, _KINDS) for s in statements)


def _chosen(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a block and of each way that an `if` may take, but no text: it is a comment."""
    for statement in body:
        if isinstance(statement, ast.If) and not asks_for_main(statement.test):
            yield from (*_chosen(statement.body), *_chosen(statement.orelse))
        elif not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)):
            yield statement


def _above(path: str) -> list[str]:
    """The folders around a file, the nearest first: "a/b/", "a/", ""."""
    words = path.split("/")[:-1]
    return ["".join(f"{word}/" for word in words[:size]) for size in range(len(words), -1, -1)]
