"""What a library's C++ and CUDA sources say of the functions that they compile: for GPUs only, for NPUs too, for neither.

Where there are no sources, the compiled file tells whether it holds device code of CUDA at all.
"""

from __future__ import annotations

import re
from functools import cached_property
from pathlib import Path

from porter.files.everything import everything

_SOURCES = (".cu", ".cuh", ".hip", ".cpp", ".cc", ".cxx", ".h", ".hpp")
_KERNELS = (".cu", ".cuh", ".hip")
_FOREIGN = re.compile(r"(?:^|/)(?:third_party|3rdparty|cutlass|extern|external|submodules?|tests?)/")
_NPU = re.compile(
    r"REGISTER_NPU_IMPL|EXEC_NPU_CMD|OpCommand|\baclnn\w+|torch_npu|kPrivateUse1|IMPL\(\s*\w+\s*,\s*PrivateUse1"
)
_CALLED = re.compile(r"\b([A-Za-z_]\w{3,})\s*(?=[(<])")
_BOUND = re.compile(
    r"""(?:\bm\w*\.def|\.op)\(\s*(?:TORCH_SELECTIVE_SCHEMA\()?["'](?:\w+::)?(\w+)[^"']*["']\s*\)?\s*(?:,\s*&?([\w:]+))?"""
)
_SECTION = re.compile(r"TORCH_LIBRARY_IMPL\(\s*\w+\s*,\s*(\w+)")
_FILLED = re.compile(r"""m\.impl\(\s*(?:TORCH_SELECTIVE_NAME\()?["'](?:\w+::)?(\w+)""")
_EXTENSION = re.compile(r"""Extension\(\s*(?:name\s*=\s*)?f?["']([\w.]+)["']""")
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_DEVICES = frozenset(["cuda", "cpu", "npu", "gpu", "hip", "impl", "kernel", "kernels", "launcher", "op"])
_ASKS = re.compile(r"(?:get|has|is|with|check|supports?)_|\w*_version$")
_ANYWHERE = frozenset({"CPU", "CompositeImplicitAutograd", "CompositeExplicitAutograd", "CatchAll"})
_FATBIN, _ASCEND = (b".nv_fatbin", b"libcudart"), (b"libascendcl", b"libtorch_npu", b"aclnn")
_PIECE = 1 << 22


class Natives:
    def __init__(self, folder: Path, compiled: list[str]) -> None:
        """`folder`: the package; its project's own build script beside it says where more sources lie."""
        self.folder, self.compiled = folder, compiled
        above = folder.resolve().parent
        tops = (above, above.parent) if above.name in ("src", "python") else (above,)
        self.project = next((top for top in tops if (top / "setup.py").is_file()), None)
        self._cuda: set[str] = set()
        self._gpu: set[str] = set()  # what says that it is for GPUs
        self._npu: set[str] = set()
        self._host: set[str] = set()  # operators that the dispatcher can compute on the CPU
        self._bound: dict[str, str] = {}  # the name in Python -> what it calls
        self.any = False
        for path in self._sources():
            self._read(path)

    def _sources(self) -> list[Path]:
        top = self.project or self.folder
        return [top / path for path in everything(top) if path.endswith(_SOURCES) and not _FOREIGN.search(path)]

    def _read(self, path: Path) -> None:
        try:
            text = path.read_text("utf-8", "replace")
        except OSError:
            return
        self.any = True
        names = set(_CALLED.findall(text))
        if "/npu/" in path.as_posix() or _NPU.search(text):
            self._npu |= set(map(_bare, names | set(re.findall(r"REGISTER_NPU_IMPL\(\s*(\w+)", text))))
            return
        if path.suffix in _KERNELS or "/cuda/" in path.as_posix():
            self._cuda |= set(map(_bare, names))
        self._gpu |= {_bare(name) for name in names if "cuda" in name.lower() and not _ASKS.match(name)}
        bound = {name: target for name, target in _BOUND.findall(text)}
        self._bound.update({name: target.rpartition("::")[2] for name, target in bound.items() if target})
        if "is_cuda()" in text:
            self._cuda |= set(map(_bare, bound))
        _, *sections = _SECTION.split(text)
        for key, section in zip(sections[::2], sections[1::2]):
            if key in _ANYWHERE:
                self._host |= set(_FILLED.findall(section))
            elif key == "CUDA":
                self._cuda |= set(map(_bare, _FILLED.findall(section)))

    @cached_property
    def extensions(self) -> frozenset[str]:
        """What the build script calls the modules that it compiles."""
        try:
            text = (self.project / "setup.py").read_text("utf-8", "replace") if self.project else ""
        except OSError:
            text = ""
        return frozenset(_EXTENSION.findall(text))

    @cached_property
    def _device_code(self) -> bool:
        """Whether what was compiled holds code for GPUs, and none that calls CANN."""
        gpu = False
        for path in self.compiled:
            try:
                with open(self.folder / path, "rb") as file:
                    before = b""
                    while piece := file.read(_PIECE):
                        gpu = gpu or any(word in before + piece for word in _FATBIN)
                        if any(word in before + piece for word in _ASCEND):
                            return False
                        before = piece[-32:]
            except OSError:
                continue
        return gpu

    def is_native(self, module: str) -> bool:
        """Whether a module that no Python source defines is one that is compiled for GPUs."""
        return module in self.extensions or module.partition(".")[0].endswith(("_cuda", "_cuda_lib"))

    def cuda_only(self, function: str, module: str = "") -> bool:
        """Whether a compiled function computes on GPUs, and no source has it for NPUs."""
        if _ASKS.match(function):
            return False
        if not self.any:
            return "cuda" in module.rpartition(".")[2].lower() or self._device_code
        names = {_bare(function), _bare(self._bound.get(function, function))}
        if names & self._npu:
            return False
        if module.endswith("_cuda") or names & self._cuda:
            return True
        return any(len(name) > 3 and other.startswith(name) for name in names for other in self._gpu)

    def operator_cuda_only(self, function: str) -> bool:
        """Of the dispatcher: what has a kernel for the CPU falls back to it."""
        return self.any and function not in self._host and self.cuda_only(function)


def _bare(name: str) -> str:
    """`NMSRotatedCUDAKernel`, `nms_rotated_cuda`, `nms_rotated_impl` -> `nmsrotated`."""
    return "".join(word for word in map(str.lower, _WORDS.findall(name)) if word not in _DEVICES)
