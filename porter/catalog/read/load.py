"""What a shipped catalogue answers: does this name exist on the target, and what is it called with."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from porter.catalog.read.shipped import shipped
from porter.errors import UserError
from porter.resources import rules_dir
from porter.versions import begins, parse, release, sure

if TYPE_CHECKING:
    from porter.catalog.read.operators import Deprecation
    from porter.catalog.read.tables import Operators, Torch

FORMAT = 2
SECTIONS = ("names", "operators", "torch", "signatures")  # one file each, so that what is not asked costs nothing
_PREFIX, _SUFFIX = "torch_npu-", ".json.gz"
_NPU, _CUDA = "torch_npu.npu", "torch.cuda"


def versions(directory: Path | None = None) -> list[str]:
    """The torch_npu versions there is a catalogue for, oldest first."""
    return shipped(_PREFIX, directory=directory)


def nearest(torch: str, directory: Path | None = None, among: Iterable[str] = ()) -> str:
    """The shipped torch_npu for a torch version such as "2.7.1+cpu" or "2.8", or the one of these. Where there is none of its
    own, the next newer: code for torch 2.3 may use what 2.1 lacks. After the newest of all, that one."""
    wanted = release(torch, 3)
    known = versions(directory)
    if not known:
        folder = directory or rules_dir() / "catalog"
        raise UserError(
            f"{folder}: no catalogue of any torch_npu version", f"{folder}：没有任何 torch_npu 版本的目录数据"
        )
    if not wanted:
        names = ", ".join(known)
        raise UserError(
            f"{torch!r} is no version of torch; catalogues there are for torch_npu {names}",
            f"{torch!r} 不是 torch 版本；现有目录数据的 torch_npu 版本：{names}",
        )
    major, minor, patch = wanted

    def distance(version: str) -> tuple[int, ...]:
        a, b, c = release(version, 3)
        apart = (a - major) * 1000 + b - minor
        return apart < 0, abs(apart), abs(c - patch), -(sure(version).post or 0)  # of post releases the newest

    return min(among or known, key=distance)


def newest(version: str, directory: Path | None = None) -> str | None:
    """The shipped version that `2.7.1.post11`, `2.7.1` or `2.7` means: the newest that begins so."""
    candidates = [v for v in versions(directory) if begins(v, version)]
    return version if version in candidates else candidates[-1] if candidates and ".post" not in version else None


def nearby(version: str, directory: Path | None = None) -> list[str]:
    """The shipped versions just below and just above one that is not shipped."""
    known, wanted = versions(directory), parse(version)
    if wanted is None:
        return []
    below, above = [v for v in known if sure(v) < wanted], [v for v in known if sure(v) > wanted]
    return below[-1:] + above[:1]


@lru_cache(maxsize=8)
def fitting(version: str) -> Catalogue:
    """The catalogue of a version, or of the nearest there is."""
    return load(version if version in versions() else nearest(version))


def load(version: str, directory: Path | None = None) -> Catalogue:
    """The catalogue of one torch_npu version, read once per process."""
    return _load(version, directory or rules_dir() / "catalog")


@lru_cache(maxsize=8)
def _load(version: str, directory: Path) -> Catalogue:
    known = versions(directory)
    if version not in known:
        raise UserError(
            f"no catalogue of torch_npu {version}; there are {', '.join(known) or 'none'}",
            f"没有 torch_npu {version} 的目录数据；现有：{'、'.join(known) or '无'}",
        )
    return Catalogue(_section(version, "names", directory), directory)


@lru_cache(maxsize=32)
def _section(version: str, section: str, directory: Path) -> dict[str, Any]:
    path = directory / f"{_PREFIX}{version}" / f"{section}{_SUFFIX}"
    try:
        data: dict[str, Any] = json.loads(zlib.decompress(path.read_bytes(), wbits=31))
    except (OSError, ValueError, zlib.error) as error:
        command = f"porter catalog build --torch-npu {version}"
        raise UserError(
            f"{path}: cannot be read: {error}; rebuild it with {command}",
            f"{path}：无法读取：{error}；请用 {command} 重建",
        ) from None
    if data.get("format") != FORMAT:
        other = data.get("format")
        raise UserError(
            f"{path}: format {other}, this porter reads format {FORMAT}; rebuild it",
            f"{path}：格式版本为 {other}，当前 porter 读取 {FORMAT}；请重建",
        )
    return data


@lru_cache(maxsize=4)
def _documented(directory: Path) -> dict[str, Deprecation]:
    import tomli

    from porter.catalog.read.operators import Deprecation

    try:
        rows = tomli.loads((directory / "deprecated.toml").read_text(encoding="utf-8"))["replacements"]
    except FileNotFoundError:
        return {}
    return {name: Deprecation(name, tuple(instead), "documents") for name, instead in rows.items()}


class Catalogue:
    """Names are asked as they are written: `torch.npu.X` is a chain of attributes, `torch_npu.X` may be an import."""

    def __init__(self, data: dict[str, Any], directory: Path) -> None:
        self._directory = directory
        self.torch_npu: str = data["torch_npu"]
        self.torch: str = data["torch"]
        self.sources: list[dict[str, str]] = data["sources"]  # file and sha256 of every wheel that was read
        self._npu: dict[str, dict[str, str]] = data["npu"]
        self._cuda: dict[str, dict[str, str]] = data["cuda"]

    def has(self, name: str) -> bool:
        return self._find(name) is not None

    def parameters(self, name: str) -> tuple[str, ...] | None:
        """Parameter names in order, `*`, `*args`, `/` and `**kwargs` included; None where no source names them."""
        entry = self._find(name)
        if entry is None or entry[0] not in "fc" or entry[1:] == "?":
            return None
        return tuple(entry[1:].split(",")) if entry[1:] else ()

    def cuda_names(self, members: bool = False) -> tuple[str, ...]:
        """Every name below torch.cuda in the torch this version is for; with the members of its classes if asked."""
        full_names = {
            f"{module}.{key}" for module, names in self._cuda.items() for key in names if members or "." not in key
        }
        return tuple(sorted(full_names | self._cuda.keys() - {_CUDA}))

    def npu_names(self, members: bool = False) -> tuple[str, ...]:
        """Every name below torch_npu.npu, spelled torch.npu.X."""
        full_names = {
            f"{module}.{key}"
            for module, names in self._npu.items()
            if module == _NPU or module.startswith(_NPU + ".")
            for key in names
            if members or "." not in key
        }
        full_names |= {module for module in self._npu if module.startswith(_NPU + ".")}
        return tuple(sorted("torch.npu" + name[len(_NPU) :] for name in full_names))

    def own_names(self) -> tuple[str, ...]:
        """Every other name of torch_npu: its operators, contrib, optim, profiler, ..."""
        modules = [m for m in self._npu if m != _NPU and not m.startswith(_NPU + ".")]
        return tuple(sorted({f"{m}.{key}" for m in modules for key in self._npu[m] if "." not in key} | set(modules)))

    def counterpart(self, name: str) -> str | None:
        """`torch.npu.X` for `torch.cuda.X`, where it exists. Says nothing about its meaning."""
        if not name.startswith(_CUDA + "."):
            return None
        npu = "torch.npu" + name[len(_CUDA) :]
        return npu if self.has(npu) else None

    def deprecated(self, name: str) -> Deprecation | None:
        """Whether `torch_npu.X` or `torch.npu.X` is deprecated, and what replaces it: this wheel warns, or the documents do."""
        name = name.replace("torch.npu", "torch_npu.npu", 1) if name.startswith("torch.npu.") else name
        deprecation = self.operators.deprecated(name)
        if deprecation is None and self.has(name):
            deprecation = _documented(self._directory).get(name)
        return deprecation

    @cached_property
    def operators(self) -> Operators:
        from porter.catalog.read.tables import Operators

        return Operators(_section(self.torch_npu, "operators", self._directory))

    @cached_property
    def surface(self) -> Torch:
        from porter.catalog.read.tables import Torch

        return Torch(_section(self.torch_npu, "torch", self._directory))

    def signature(self, name: str) -> str:
        """As the sources write it: of `aten::X` its schema, of a function its parameters; "" where none does."""
        parameters = self.parameters(name)
        if parameters is not None:
            return f"({', '.join(parameters)})"
        return self.signatures().get(name, "")

    def signatures(self) -> dict[str, str]:
        """Of everything in torch that has one."""
        signatures: dict[str, str] = _section(self.torch_npu, "signatures", self._directory)["signatures"]
        return signatures

    def _find(self, name: str) -> str | None:
        if name == "torch.npu" or name.startswith("torch.npu."):
            return _attribute(self._npu, _NPU, name[len("torch.npu.") :])
        if name == _CUDA or name.startswith(_CUDA + "."):
            return _attribute(self._cuda, _CUDA, name[len(_CUDA) + 1 :])
        if name == "torch_npu" or name.startswith("torch_npu."):
            return _attribute(self._npu, "torch_npu", name[len("torch_npu.") :]) or _import(self._npu, name)
        return None


def _attribute(names: dict[str, dict[str, str]], module: str, chain: str) -> str | None:
    """The entry that the chain of attributes `chain` ends at: what a package binds hides a module of the same name."""
    while chain:
        bound = names.get(module, {})
        if chain in bound:
            return bound[chain]
        first, _, chain = chain.partition(".")
        below = bound.get(first, f"m{module}.{first}")
        if below[0] != "m" or below[1:] not in names:
            return None
        module = below[1:]
    return f"m{module}" if module in names else None


def _import(names: dict[str, dict[str, str]], dotted: str) -> str | None:
    """The entry that `from module import name` gives, for the longest module that exists."""
    module, _, chain = dotted.rpartition(".")
    while module:
        if module in names:
            return names[module].get(chain)
        module, _, child = module.rpartition(".")
        chain = f"{child}.{chain}"
    return None
