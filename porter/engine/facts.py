"""What one file cannot know of the others, as its analysis is told: gathered by porter/run/gather.py."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from porter.files.kinds import MAKEFILE, SHELL, kind_of

Takes = tuple[tuple[str, str, str], ...]


class Native(NamedTuple):
    """What Python calls, and where it ends."""

    module: str  # the last word of the extension's name, or "torch.ops.ns"
    name: str
    kernels: str  # the first of them
    path: str  # of the first


def exports_of(natives: Iterable[Native]) -> dict[str, dict[str, Native]]:
    found: dict[str, dict[str, Native]] = {}
    for native in natives:
        found.setdefault(native.module, {})[native.name] = native
    return found


class Served(NamedTuple):
    path: str
    name: str  # "function" or "Class.method"
    by: str  # the first file that calls it
    hosts: tuple[str, ...] = ()  # what it is handed there after it was read back: names, and places as numbers


@dataclass(frozen=True)
class Roads:
    astray: tuple[
        str, ...
    ] = ()  # Python files from which nothing leads to torch; of a project of torch's, if they say CUDA
    torch: bool = True  # whether the project is torch's


@dataclass(frozen=True)
class Facts:
    """Picklable and hashable: part of the cache key, so that a hook on one file and a run over all agree."""

    own_cuda: tuple[str, ...] = ()  # "path:Class" of classes that define a method `cuda` of their own
    own_is_cuda: tuple[str, ...] = ()  # and of those with an `is_cuda` of their own
    constants: tuple[tuple[str, str, str, str], ...] = ()  # (path, name, kind, user): module constants used elsewhere
    passed: tuple[tuple[str, str, str], ...] = ()  # (flag, value, script): old values that scripts hand over
    shim: tuple[str, ...] = ()  # files that import transfer_to_npu
    twins: tuple[str, ...] = ()  # files with a counterpart for NPUs beside them: cuda_worker.py and npu_worker.py
    among: tuple[str, ...] = ()  # files with counterparts for other accelerators beside them: cuda.py and mps.py
    aware: tuple[str, ...] = ()  # folders, "" for all of the project, whose code runs on NPUs and on GPUs already
    fused: str = ""  # the place of the first fused optimiser of torch
    gelu: str = ""  # the first file that computes the exact GELU, which speaks for the others
    jit_compile: str = ""  # on | off, where the project sets it
    own_packages: tuple[str, ...] = ()  # folders of GPU-only packages that the project is, and does not use
    takes: Takes = ()  # (option, kind, path): options of the project's programs that its scripts hand a device or a backend
    launcher: str = ""  # the shell script that starts the training
    imported: tuple[tuple[str, str], ...] = ()  # (package, files): who imports what the project asks to have installed
    natives: tuple[Native, ...] = ()  # what its extensions export to Python, and the kernels that this ends in
    dying: tuple[tuple[str, str], ...] = ()  # (source of CUDA, the functions of Python that end in it)
    served: tuple[Served, ...] = ()  # functions that a step in another file calls for every batch
    roads: Roads = Roads()  # from which files nothing leads to torch

    def digest(self) -> str:
        """Of all but what is said of single files: `digest_of`."""
        whole = replace(self, served=(), roads=replace(self.roads, astray=()))
        return hashlib.sha256(repr(whole).encode()).hexdigest()[:16]

    def digest_of(self, path: str) -> str:
        """Of what is said of one file; "" where nothing is."""
        said = (self.about(path), path in self.roads.astray)
        return hashlib.sha256(repr(said).encode()).hexdigest()[:16] if any(said) else ""

    def about(self, path: str) -> tuple[Served, ...]:
        return tuple(one for one in self.served if one.path == path)

    def constants_of(self, path: str) -> frozenset[tuple[str, str]]:
        return frozenset((name, kind) for at, name, kind, _ in self.constants if at == path)

    def knows_npus(self, path: str) -> bool:
        """Whether a file belongs to code that chooses between GPUs and NPUs, so that a rename would take the GPUs away."""
        return path.startswith(self.aware) if self.aware else False

    def owns(self, package: str, path: str) -> bool:
        """Whether a file that imports a package finds it in the project itself."""
        folders = (own.removesuffix(package) for own in self.own_packages if own.rpartition("/")[2] == package)
        return any(path.startswith(folder) for folder in folders)

    def users(self, package: str) -> str:
        """The files that import a package or a part of it, as far as requirements ask for it."""
        return next((files for name, files in self.imported if name == package), "")

    @cached_property
    def exports(self) -> dict[str, dict[str, Native]]:
        return exports_of(self.natives)

    def passes(self, flag: str, value: str) -> str | None:
        """The script that hands this value to a flag and goes on doing so: the others are ported with the program."""
        name = flag.lstrip("-").replace("_", "-")
        for other, old, script in self.passed:
            if old == value and other.lstrip("-").replace("_", "-") == name:
                kind = "backend" if value == "nccl" else "device"
                if kind_of(script) not in (SHELL, MAKEFILE) or not self.takes_option(flag, kind):
                    return script
        return None

    def takes_option(self, flag: str, kind: str) -> bool:
        name = flag.lstrip("-").replace("_", "-")
        return any(other == name and of == kind for other, of, _ in self.takes)
