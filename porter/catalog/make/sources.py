"""Python sources inside wheels: read from the archive, never unpacked and never imported."""

from __future__ import annotations

import ast
import hashlib
import re
import warnings
import zipfile
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path

from porter.errors import UserError


class CatalogueError(UserError):
    """A wheel or a catalogue file that cannot be used. Says which and why."""


class Wheel:
    """One wheel on disk: its name, version, checksum and the Python modules in it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name, _, version_and_tags = path.name.partition("-")
        self.version = version_and_tags.partition("-")[0]
        try:
            self._archive = zipfile.ZipFile(path)
        except (OSError, zipfile.BadZipFile) as error:
            raise CatalogueError(
                f"{path}: not a readable wheel: {error}", f"{path}：无法作为 wheel 读取：{error}"
            ) from None
        names = [name for name in self._archive.namelist() if name.count("/") > 0]
        self._files = {_module(name): name for name in names if name.endswith(".py")}
        self._stubs = {_module(name): name for name in names if name.endswith(".pyi")}

    @cached_property
    def sha256(self) -> str:
        digest = hashlib.sha256()
        with open(self.path, "rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
        return digest.hexdigest()

    def read(self, file: str) -> bytes:
        try:
            return self._archive.read(file)
        except (KeyError, zipfile.BadZipFile) as error:
            raise CatalogueError(
                f"{self.path}: {file} cannot be read: {error}", f"{self.path}：无法读取其中的 {file}：{error}"
            ) from None

    def files(self) -> list[str]:
        return self._archive.namelist()

    def modules(self) -> Iterable[str]:
        return self._files

    def stubs(self) -> Iterable[str]:
        return self._stubs

    def source(self, module: str) -> bytes:
        return self.read(self._files[module]) if module in self._files else b""

    def is_package(self, module: str) -> bool:
        return self._files.get(module, "").endswith("/__init__.py")

    def parse(self, module: str) -> ast.Module | None:
        return self._tree(self._files.get(module))

    def stub(self, module: str) -> ast.Module | None:
        """The .pyi that stands for a module compiled from C++."""
        return self._tree(self._stubs.get(module))

    def _tree(self, file: str | None) -> ast.Module | None:
        if file is None:
            return None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # escapes in other people's strings
            try:
                return ast.parse(self._archive.read(file))
            except (SyntaxError, ValueError):
                return None


class Wheels:
    """Several wheels seen as one import path: torch_npu's classes inherit from torch's."""

    def __init__(self, wheels: Sequence[Wheel]) -> None:
        self._owner = {module: wheel for wheel in wheels for module in wheel.modules()}

    def __contains__(self, module: str) -> bool:
        return module in self._owner

    def is_package(self, module: str) -> bool:
        return module in self._owner and self._owner[module].is_package(module)

    def parse(self, module: str) -> ast.Module | None:
        return self._owner[module].parse(module) if module in self._owner else None

    def below(self, package: str) -> list[str]:
        """`package` and every module under it, sorted."""
        return sorted(m for m in self._owner if m == package or m.startswith(package + "."))


def _module(file: str) -> str:
    return re.sub(r"(/__init__)?\.pyi?$", "", file).replace("/", ".")
