"""Chooses the places of statements that are made once for a project: the first file, by path, that has a reason for it."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping

from porter.engine.facts import SaidOnce, SyncNorms
from porter.files.paths import is_test
from porter.project.gradient_changers import gradient_changers
from porter.python.index import Node
from porter.python.parameters import is_called
from porter.python.walks import walk
from porter.regex import lazy, rare
from porter.rulebook.table import any_of, hints

# what is for cuBLAS alone, and what takes its place
_OF_CUBLAS = b"CUBLAS_WORKSPACE_CONFIG"
_DETERMINISTIC = lazy(
    rb"^[ \t]*(?:torch\.)?use_deterministic_algorithms\([ \t]*(?:mode[ \t]*=[ \t]*)?True", re.MULTILINE
)
# a fused optimiser; a setting of the compilation; a variable that is read
# of the first also `fused=device.type == "cuda"`, which is true on an NPU once it is ported
_NEAR = 600  # bytes of a call before an argument
FUSED_ONES = ("Adam", "AdamW", "SGD", "Adagrad")
_FUSED = rare(rb"\bfused(?:[ \t]*=(?!=)|[\"']\][ \t]*=(?!=)|[\"'][ \t]*:)[ \t]*(?:True\b|[^\n,]{0,80}\bcuda\b)")
OPTIMISER = lazy(rb"\b(?:%s)\(" % "|".join(FUSED_ONES).encode())
# `AdamW(model.parameters(), fused=True`, as far as one line or a short call says it: there PRT316 has an edit
_DIRECTLY = lazy(rb"\b(?:%s)\((?:[^()]|\([^()]*\)){0,400}\Z" % "|".join(FUSED_ONES).encode())
# a scaler of the loss that is not switched off, and not for CPUs
_SCALES = rare(rb"\bGradScaler\((?!(?:device[ \t]*=[ \t]*)?[\"']cpu)(?![^)\n]*\benabled[ \t]*=[ \t]*False\b)")
_JIT = lazy(rb"\bset_compile_mode\(\s*jit_compile\s*=\s*(True|False)\b")
# a variable of CUDA that a program reads
_READ = rare(
    rb"""(?:\benviron(?:\.get)?|\bgetenv)\s*[\[(]\s*["'](\w*(?:CUDA|NCCL|CUBLAS|CUDNN|NVIDIA)\w*)["'](?!\s*\]\s*=(?!=))"""
)
# variables without an effect on NPUs, with the pattern of code that sets one; add further names to the tuple
_NO_EFFECT = {
    name: lazy(rb"""\benviron\[\s*["']%s["']\s*\]\s*=(?!=)""" % name.encode()) for name in ("CUDA_DEVICE_ORDER",)
}
_GELU = rare(rb"\b(?:nn\.GELU|F\.gelu|functional\.gelu)\s*\(|=\s*(?:torch\.)?nn\.GELU\s*[,)]")

# a class whose forward takes one tensor: one that takes a module, or several tensors, only shares the name
_OWN_DROP_PATH = lazy(
    rb"^[ \t]*class[ \t]+DropPath\b[^\n]*\n(?:(?![ \t]*(?:class|def[ \t]+forward)\b)[^\n]*\n){0,40}?"
    rb"[ \t]*def[ \t]+forward\(\s*self,\s*\w+\s*[,:)](?![^\n]*,[ \t]*\w)",
    re.MULTILINE,
)
_TIMM_DROP_PATH = lazy(rb"^[ \t]*from[ \t]+timm[\w.]*[ \t]+import\b[^\n]*\bDropPath\b", re.MULTILINE)
_SIZES = rare(
    rb"\b(?:nested_tensor_from_tensor_list|NestedTensor|ImageList|to_image_list)\b"
)  # batches of images of any size
_RUNS = rare(rb"\bRunner(?:\.from_cfg)?\(")
_SYNC_NORM = lazy(rb"\bSyncBatchNorm\b[\w.]*\(")
# code that makes a process group, directly or by a library that runs the training
_GROUPS = lazy(any_of("makes-process-groups").encode())


def said_once(
    texts: Mapping[str, bytes], parse: Callable[[bytes], ast.Module | None], unmoved: tuple[tuple[str, str], ...]
) -> SaidOnce:
    """All places. `unmoved`: see SaidOnce."""
    return SaidOnce(
        first_fused(texts),
        first_scaler(texts),
        first_gelu(texts, parse),
        first_drop_path(texts),
        unmoved,
        sync_norms(texts),
        first_short_float(texts),
        _first(texts, "bfloat16"),
        gradient_changers(texts),
        runner=next(
            (p for p in sorted(texts) if b"mmengine" in texts[p] and _RUNS.search(texts[p]) and not is_test(p)), ""
        ),
    )


def first_short_float(texts: Mapping[str, bytes]) -> str:
    """The first file that names autocast or a 16-bit float type. "?" where there is none and no file trains: then programs that
    import the project may use them."""
    path = _first(texts, "short-floats")
    return path or ("" if any(b".backward(" in data for data in texts.values()) else "?")


def _first(texts: Mapping[str, bytes], kind: str) -> str:
    words = sorted(word.encode() for word in hints(kind))
    spoken = (path for path in sorted(texts) if any(word in texts[path] for word in words) and not is_test(path))
    return next(spoken, "")


def sync_norms(texts: Mapping[str, bytes]) -> SyncNorms:
    paths = [
        p for p in sorted(texts) if b"SyncBatchNorm" in texts[p] and _SYNC_NORM.search(texts[p]) and not is_test(p)
    ]
    return SyncNorms(tuple(paths), not paths or any(map(_GROUPS.search, texts.values())))


def first_gelu(texts: Mapping[str, bytes], parse: Callable[[bytes], ast.Module | None]) -> str:
    """The first file that computes the exact GELU; "" where no file does, or none of them could be parsed. Then each file speaks
    for itself."""
    for path in sorted(texts):
        if b"GELU" not in texts[path] and b"gelu" not in texts[path] or not _GELU.search(texts[path]) or is_test(path):
            continue
        tree = parse(texts[path])
        if tree is not None and any(map(_is_exact, walk(tree))):
            return path
    return ""


def first_drop_path(texts: Mapping[str, bytes]) -> str | None:
    """The first file that defines DropPath, or else the first that imports it. None in a project with images of many sizes."""
    naming = sorted(path for path, data in texts.items() if b"DropPath" in data and not is_test(path))
    saying = [path for path in naming if _OWN_DROP_PATH.search(texts[path])]
    saying += [path for path in naming if _TIMM_DROP_PATH.search(texts[path])]
    if saying and any(_SIZES.search(data) for data in texts.values()):
        return None
    return next(iter(saying), "")


def first_readers(texts: Mapping[str, bytes]) -> tuple[tuple[str, str], ...]:
    """(variable, the first file that reads it) of the variables of CUDA and NCCL."""
    readers: dict[str, str] = {}
    for path in sorted(texts):
        data = texts[path]
        if (b"environ" in data or b"getenv" in data) and not is_test(path):
            for name in _READ.findall(data):
                readers.setdefault(name.decode("utf-8", "replace"), path)
    return tuple(sorted(readers.items()))


def set_in_many(texts: Mapping[str, bytes]) -> tuple[tuple[str, str, int], ...]:
    """(variable, the first file that sets it, how many more do) of a variable that has no effect on NPUs."""
    rows = []
    for name, says in _NO_EFFECT.items():
        paths = sorted(path for path, data in texts.items() if name.encode() in data and says.search(data))
        if paths:
            rows.append((name, paths[0], len(paths) - 1))
    return tuple(rows)


def is_deterministic(texts: Mapping[str, bytes]) -> bool:
    """Whether the project names cuBLAS's variable, and calls what takes its place on NPUs."""
    if not any(_OF_CUBLAS in data for data in texts.values()):
        return False
    calling = (data for path, data in texts.items() if b"use_deterministic_algorithms" in data and not is_test(path))
    return any(map(_DETERMINISTIC.search, calling))


def first_fused(texts: Mapping[str, bytes]) -> str:
    """The first "path:line" at which a fused optimiser of torch is asked for, but not by an argument of its own; "" for none."""
    for path in sorted(texts):
        data = texts[path]
        if b"fused" in data and b"optim" in data and b"torch" in data and not is_test(path):
            for match in _FUSED.finditer(data):
                if not _DIRECTLY.search(data, max(0, match.start() - _NEAR), match.start()):
                    return f"{path}:{data.count(bytes([10]), 0, match.start()) + 1}"
    return ""


def first_scaler(texts: Mapping[str, bytes]) -> str:
    """The first "path:line" of a GradScaler; "" where there is none."""
    for path in sorted(texts):
        data = texts[path]
        if b"GradScaler" in data and not is_test(path) and (match := _SCALES.search(data)):
            return f"{path}:{data.count(bytes([10]), 0, match.start()) + 1}"
    return ""


def _is_exact(node: Node) -> bool:
    if node.__class__ is ast.FunctionDef:
        given = (*node.args.defaults, *filter(None, node.args.kw_defaults))
        return any(
            ast.unparse(d) in ("nn.GELU", "torch.nn.GELU") and is_called(node, d)
            for d in given
            if d.__class__ is ast.Attribute
        )
    func: Node = getattr(node, "func", None)
    if func.__class__ is not ast.Attribute or func.attr not in ("GELU", "gelu"):
        return False
    if ast.unparse(func) not in (
        "nn.GELU",
        "torch.nn.GELU",
        "F.gelu",
        "nn.functional.gelu",
        "torch.nn.functional.gelu",
    ):
        return False
    return not any(k.arg in ("approximate", None) for k in node.keywords)


def jit_compile(texts: Mapping[str, bytes]) -> str:
    """Whether operators are compiled for each shape, "on" or "off", if all settings of the project say the same; else ""."""
    values = {m for data in texts.values() if b"set_compile_mode" in data for m in _JIT.findall(data)}
    return {b"True": "on", b"False": "off"}[values.pop()] if len(values) == 1 else ""
