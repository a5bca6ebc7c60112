"""Finds files that have counterparts for other devices beside them, by their names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from porter.files.kinds import DOCKERFILE, REQUIREMENTS, SHELL, YAML, kind_of
from porter.project.copies import copied_library
from porter.regex import lazy

# words for GPUs in a name and for NPUs; words in the name of a script for NPUs
_TWINS = (("cuda", "npu"), ("nccl", "hccl"), ("gpu", "npu"))
_OURS = ("npu", "ascend")
_LISTS = (REQUIREMENTS, YAML, DOCKERFILE)
# in the name of a file; cu118 is a version of CUDA
_CPU = lazy(r"(?<![a-z0-9])cpu(?![a-z0-9])(?=[^/]*$)")
_GPU = lazy(r"(?<![a-z0-9])(?:gpu|cuda|cu\d{2,3})(?![a-z])(?=[^/]*$)")
PROJECT = ("pyproject.toml", "setup.cfg", "setup.py")
_OTHERS = ("mps", "xpu", "xla", "hpu", "mlu", "musa")


def twins_among(files: Sequence[str]) -> Iterable[str]:
    """Files with a counterpart for NPUs beside them: cuda_worker.py and npu_worker.py, run.sh and run_npu.sh, and all images of
    docker-cuda where docker-npu has one."""
    paths = frozenset(files)
    images = frozenset(path.rpartition("/")[0] for path in files if kind_of(path) == DOCKERFILE)
    for path in paths:
        if any(path.replace(old, new) in paths for old, new in _TWINS if old in path):
            yield path
        elif (folder := path.rpartition("/")[0]) in images and kind_of(path) == DOCKERFILE:
            if any(folder.replace(old, new) in images for old, new in _TWINS if old in folder):
                yield path
        elif kind_of(path) == SHELL and not paths.isdisjoint(_for_npus(path)):
            yield path


def _for_npus(script: str) -> Iterable[str]:
    """The names that a script for NPUs beside this one may have."""
    folder, slash, name = script.rpartition("/")
    stem, dot, suffix = name.rpartition(".")
    for word in _OURS:
        for mark in "_-.":
            yield f"{folder}{slash}{stem}{mark}{word}{dot}{suffix}"
            yield f"{folder}{slash}{word}{mark}{name}"


def rivals_among(files: Sequence[str]) -> Iterable[str]:
    """Files with counterparts for other accelerators beside them: cuda.py and mps.py."""
    paths = frozenset(files)
    for path in paths:
        folder, _, name = path.rpartition("/")
        if "cuda" in name and any(f"{folder}/{name.replace('cuda', other)}".lstrip("/") in paths for other in _OTHERS):
            yield path


def for_cpus(files: Sequence[str]) -> Iterable[str]:
    """Requirement lists for machines without GPUs that have a list for GPUs beside them: environment_cpu.yml beside
    environment_gpu.yml, environment_cu118.yml or environment_gpu_linux.yml."""
    for_gpus = {(path[: match.start()], kind_of(path)) for path in files for match in _GPU.finditer(path)}
    for path in files:
        match = _CPU.search(path)
        if match and kind_of(path) in _LISTS and (path[: match.start()], kind_of(path)) in for_gpus:
            yield path


def npu_folders(asks: dict[str, bool], files: Sequence[str]) -> tuple[str, ...]:
    """A project that defines `is_npu_available`, asks it in several files, or has npu_x.py beside cuda_x.py, runs on
    both; of a collection, the part. A copy of a library inside of a project speaks for itself alone. `asks`: the files
    that ask, and whether they define the question."""
    folders: dict[str, list[bool]] = {}
    for path, defines in asks.items():
        whole = "/" not in path or any(name in files for name in PROJECT)
        folder = copied_library(path) or ("" if whole else path.partition("/")[0] + "/")
        folders.setdefault(folder, []).append(defines)
    return tuple(sorted(folder for folder, definitions in folders.items() if any(definitions) or len(definitions) > 2))
