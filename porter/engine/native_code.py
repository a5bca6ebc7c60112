"""What rules ask about the C++ and CUDA code of a project."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple


class Native(NamedTuple):
    """A function of C++ that Python calls, and the CUDA kernels that it ends in."""

    module: str  # the last word of the extension's name, or "torch.ops.ns"
    name: str
    kernels: str  # names of the first kernels
    path: str  # the file of the first kernel


class Needed(NamedTuple):
    """A function that a test with a GPU calls, and the kernel or the package that it ends in."""

    test: str
    called: str
    end: str


class Builds(NamedTuple):
    """Which folders of the project build its extensions, of what, and for what."""

    folders: tuple[str, ...] = ()  # below the root, whose build makes extensions of CUDA sources
    apart: tuple[tuple[str, Native], ...] = ()  # (folder, function) where several folders build one module
    # (module, folder, whether it builds CUDA sources), where folders build one module in both ways
    mixed: tuple[tuple[str, str, bool], ...] = ()
    names: tuple[tuple[str, str], ...] = ()  # (name, module) of what is bound to another name where it is built
    stopping: tuple[str, ...] = ()  # Python files that cannot be imported without such an extension
    # sources whose kernels stand in for operators of torchvision where it is not installed
    standing_in: tuple[str, ...] = ()


@dataclass(frozen=True)
class NativeCode:
    """The C++ and CUDA code of the project, as far as Python calls it."""

    functions: tuple[Native, ...] = ()  # functions that the extensions export to Python and that end in kernels
    callers: tuple[tuple[str, str], ...] = ()  # (CUDA source, the functions of Python that end in it)
    modules: tuple[str, ...] = ()  # the last words of the names of extensions that are built from CUDA sources
    spared: tuple[str, ...] = ()  # sources that are not needed: all Python that calls them has another way
    needed: tuple[Needed, ...] = ()
    unbuilt: tuple[str, ...] = ()  # sources that no extension lists, and that no listed source includes
    applied: tuple[str, ...] = ()  # classes of torch.autograd.Function whose methods end in kernels
    plain: tuple[str, ...] = ()  # modules that can be imported without CUDA: built of C++ alone there
    linked: tuple[tuple[str, tuple[str, ...]], ...] = ()  # (source, those of kernels that are built with it)
    # Python files that have another way than all extensions that they use; functions that build such extensions at run time
    taken: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()
    built: Builds = Builds()

    @cached_property
    def exports(self) -> dict[str, dict[str, Native]]:  # `functions` by module and name
        return exports_of(self.functions)

    def exports_near(self, path: str) -> dict[str, dict[str, Native]]:
        """The same for one file: of modules that several folders build, those of the nearest folder above it."""
        if not self.built.apart:
            return self.exports
        folders: dict[str, set[str]] = {}
        for folder, native in self.built.apart:
            folders.setdefault(native.module, set()).add(folder)
        near = {module: nearest(several, path) for module, several in folders.items()}
        own = exports_of(native for folder, native in self.built.apart if folder == near[native.module])
        return self.exports | own

    def modules_near(self, path: str) -> tuple[str, ...]:
        """`modules`, without those that the nearest folder above a file builds without CUDA."""
        if not self.built.mixed:
            return self.modules
        plain: set[str] = set()
        for module in {module for module, _, _ in self.built.mixed}:
            built = {folder: for_cuda for other, folder, for_cuda in self.built.mixed if other == module}
            if not built.get(nearest(built, path) or "", True):
                plain.add(module)
        return tuple(module for module in self.modules if module not in plain)


def nearest(folders: Iterable[str], path: str) -> str | None:
    """Which of these folders stands nearest above a file; None where none does. "" is the root."""
    return max((folder for folder in folders if path.startswith(f"{folder}/".lstrip("/"))), key=len, default=None)


def exports_of(natives: Iterable[Native]) -> dict[str, dict[str, Native]]:
    exports: dict[str, dict[str, Native]] = {}
    for native in natives:
        exports.setdefault(native.module, {})[native.name] = native
    return exports
