"""What the vendor's tables of supported torch APIs say: status per chip, types named, whether it may run on the CPU.

Read from the documentation of Ascend/pytorch (CC BY 4.0); each file names repository, commit and folder. What the
tables call unsupported is often only not verified: verdict.py weighs it against the wheel.
"""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from porter.catalog.read.shipped import shipped
from porter.errors import UserError
from porter.resources import rules_dir
from porter.versions import release

FORMAT = 1
PREFIX, SUFFIX = "documents-", ".json.gz"
SUPPORTED, CONSTRAINED, UNSUPPORTED = "supported", "constrained", "unsupported"
_COLUMNS = {"A2": ("A2",), "A3": ("A3", "A2"), "950": ("950DT",)}  # the other chips have no column of their own
_FEW = 100  # a chip that fewer rows tick has no column


@dataclass(frozen=True, slots=True)
class Fact:
    """What the tables say of one API on one chip."""

    status: str  # supported | constrained | unsupported
    dtypes: tuple[str, ...] = ()  # "float32": those its note names; () where it names none
    may_run_on_cpu: bool = False
    inference_only: bool = False
    npu_name: str = ""  # what stands in its place, as attributes are written


@dataclass(frozen=True, slots=True)
class Source:
    repo: str
    ref: str
    commit: str
    tree: str
    licence: str
    note: str


class Documents:
    def __init__(self, data: dict[str, Any], wanted: str) -> None:
        self.torch: str = data["torch"]
        self.wanted = wanted  # the torch that was asked for; there are no tables for every one
        self.source = Source(**data["source"])
        self._rows: list[list[Any]] = data["rows"]
        self._apis: dict[str, int] = data["apis"]
        self._npu: dict[str, str] = data["npu"]
        counts: dict[str, int] = {}
        for index in self._apis.values():
            for chip in self._rows[index][1]:
                counts[chip] = counts.get(chip, 0) + 1
        self._columns = frozenset(chip for chip, n in counts.items() if n >= _FEW)

    @property
    def exact(self) -> bool:
        """Whether these tables are for the torch that was asked for."""
        return release(self.torch)[:2] == release(self.wanted)[:2]

    def column(self, soc: str) -> str | None:
        """The column of the tables that speaks of a chip; None where none does."""
        return next((chip for chip in _COLUMNS.get(soc, ()) if chip in self._columns), None)

    def __contains__(self, api: str) -> bool:
        return api in self._apis

    def names(self) -> list[str]:
        return sorted(self._apis)

    def fact(self, api: str, soc: str) -> Fact | None:
        """None where the tables are silent about the API, or about the chip."""
        column, index = self.column(soc), self._apis.get(api)
        if column is None or index is None:
            return None
        status, chips, dtypes, flags = self._rows[index]
        status = status if column in chips else UNSUPPORTED
        return Fact(status, tuple(dtypes), bool(flags & 1), bool(flags & 2), self._npu.get(api, ""))


def versions(directory: Path | None = None) -> list[str]:
    """The torch versions there are tables for, oldest first."""
    return shipped(PREFIX, SUFFIX, directory)


@lru_cache(maxsize=4)
def load(torch: str, directory: Path | None = None) -> Documents:
    """The tables for a torch version such as "2.7.1+cpu", or the nearest there are; of two equally near, the older."""
    known = versions(directory)
    folder = directory or rules_dir() / "catalog"
    if not known:
        command = "python -m porter.catalog.make.overlay"
        raise UserError(
            f"{folder}: no tables of supported APIs; make them with {command}",
            f"{folder}：没有 API 支持表；请用 {command} 生成",
        )
    major, minor, *_ = (*release(torch), 0, 0)

    def distance(version: str) -> tuple[int, int]:
        a, b, *_ = release(version, 2)
        apart = (a - major) * 1000 + b - minor
        return abs(apart), apart

    path = folder / f"{PREFIX}{min(known, key=distance)}{SUFFIX}"
    try:
        data = json.loads(zlib.decompress(path.read_bytes(), wbits=31))
    except (OSError, ValueError, zlib.error) as error:
        command = "python -m porter.catalog.make.overlay"
        raise UserError(
            f"{path}: cannot be read: {error}; make it with {command}",
            f"{path}：无法读取：{error}；请用 {command} 重新生成",
        ) from None
    if data.get("format") != FORMAT:
        other = data.get("format")
        raise UserError(
            f"{path}: format {other}, this porter reads format {FORMAT}; make it anew",
            f"{path}：格式版本为 {other}，当前 porter 读取 {FORMAT}；请重新生成",
        )
    return Documents(data, torch)
