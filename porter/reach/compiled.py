"""What a library's own C++ and CUDA say of the functions that it compiles: whether each of them comes to a GPU only.

Where there are no sources, the compiled file tells whether it holds device code of CUDA at all.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

from porter.files.all_files import everything
from porter.files.errors import FilesError
from porter.files.read import LIMIT, beginning, opened
from porter.native import kernels
from porter.native.builders import BUILDER
from porter.native.extensions import Extension
from porter.native.kernels import Exported, Reached
from porter.native.uses import OPS
from porter.python.trees import parse
from porter.regex import lazy

_FOREIGN = lazy(r"(?:^|/)(?:third_party|3rdparty|cutlass|extern|external|submodules?|tests?)/")
_DEVICE = (".cu", ".hip")
_NAMED = ("_cuda", "_cuda_lib")  # a module that says itself what it is for
_ASKS = lazy(r"(?:get|has|is|with|check|supports?)_|\w*_version$")
_ANYWHERE = frozenset({"CPU", "CompositeImplicitAutograd", "CompositeExplicitAutograd", "CatchAll"})
_FATBIN, _ASCEND = (b".nv_fatbin", b"libcudart"), (b"libascendcl", b"libtorch_npu", b"aclnn")
_PIECE = 1 << 22


class Natives:
    def __init__(self, folder: Path, compiled: list[str]) -> None:
        """`folder`: the package; its project's own build script beside it says where more sources lie."""
        self.folder, self.compiled = folder, compiled
        above = folder.resolve().parent
        tops = (above, above.parent) if above.name in ("src", "python") else (above,)
        self.top = next((top for top in tops if (top / "setup.py").is_file()), folder)
        files = [path for path in everything(self.top) if not _FOREIGN.search(path)]
        self._sources = kernels.sources_of(self.top, files)
        texts = {path: beginning(self.top / path, LIMIT) or b"" for path in files if path.endswith(".py")}
        self._built = kernels.built_by(texts, parse)

    @cached_property
    def extensions(self) -> frozenset[str]:
        """What the build scripts call the modules that they compile."""
        return frozenset(extension.name for extension in self._built if extension.builder != BUILDER)

    @cached_property
    def _exported(self) -> Exported:
        exported = kernels.exported(self._sources, self._built)
        for extension in self._built:
            for name, ends in kernels.inline(extension).items():
                exported.keys.setdefault(extension.module, {}).setdefault(name, set())
                exported.reached.setdefault(extension.module, {}).setdefault(name, {}).update(ends)
        return exported

    @cached_property
    def _for_gpus(self) -> frozenset[str]:
        """The extensions that cannot be compiled without CUDA."""
        return frozenset(e.name for e in self._built if self._needs_cuda(e))

    @cached_property
    def builders(self) -> dict[str, dict[str, Reached]]:
        """The classes that can only build and load their extension with CUDA, and what of it computes on GPUs."""
        named = sorted({e.name for e in self._built if e.builder == BUILDER and _for_devices(e)})
        return {name: self._exported.reached.get(name, {}) for name in named}

    def _needs_cuda(self, extension: Extension) -> bool:
        if extension.builder == "CUDAExtension" or _for_devices(extension):
            return True
        return bool(self._exported.reached.get(extension.module))

    @cached_property
    def _device_code(self) -> bool:
        """Whether what was compiled holds code for GPUs, and none that calls CANN."""
        gpu = False
        for path in self.compiled:
            try:
                with opened(self.folder / path) as (file, _):
                    before = b""
                    while piece := file.read(_PIECE):
                        gpu = gpu or any(word in before + piece for word in _FATBIN)
                        if any(word in before + piece for word in _ASCEND):
                            return False
                        before = piece[-32:]
            except FilesError:
                continue
        return gpu

    def is_native(self, module: str) -> bool:
        """Whether a module that no Python source defines is compiled for GPUs only; `lib._C` is built for the CPU too."""
        if "." in module:
            return module.endswith(_NAMED) and module in self.extensions
        return module.endswith(_NAMED) or module in self._for_gpus

    def cuda_only(self, function: str, module: str) -> bool:
        """Whether a compiled function computes on GPUs, and no source has it for NPUs."""
        last_word = module.rpartition(".")[2]
        if self.is_native(module.partition(".")[0]) or self.is_native(module):
            return True  # there is no such module
        if last_word in self._exported.keys:
            return function in self._exported.reached.get(last_word, ())
        if self._sources and not self.compiled:
            return False
        return not _ASKS.match(function) and ("cuda" in last_word.lower() or self._device_code)

    def operator_cuda_only(self, space: str, function: str) -> bool:
        """Of the dispatcher: what has a kernel for the CPU falls back to it."""
        keys = self._exported.keys.get(OPS + space, {}).get(function, set())
        if keys & _ANYWHERE or "PrivateUse1" in keys:
            return False
        return "CUDA" in keys or function in self._exported.reached.get(OPS + space, ())


def _for_devices(extension: Extension) -> bool:
    return any(source.endswith(_DEVICE) for source in extension.sources)
