"""Libraries that the repositories of a fleet share: each is analysed once, and what is known of it goes into every analysis."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from porter.errors import UserError
from porter.files.documents import Json
from porter.fleet.entries import Entry
from porter.fleet.identity import of_text
from porter.fleet.layout import LIBRARIES
from porter.fleet.row import DONE, SCHEMA
from porter.reach.fact_file import render
from porter.reach.known import for_every_target

ASIDE = (
    "tests",
    "test",
    "docs",
    "demo",
    "examples",
    "benchmarks",
    "projects",
    "scripts",
    "tools",
)  # nobody imports these


class Shared(NamedTuple):
    """What goes with every task."""

    library: str
    target: str  # for which it was analysed
    text: str  # of its fact file
    anywhere: str  # of the fact file for repositories that have another target

    @property
    def files(self) -> dict[str, str]:
        other = {} if self.anywhere == self.text else {f"{self.library}.anywhere.json": self.anywhere}
        return {f"{self.library}.json": self.text, **other}


def shared(facts: Json) -> Shared:
    return Shared(facts["library"], facts["target"], render(facts), render(for_every_target(facts)))


def row_of(facts: Json) -> Json:
    """The row of a library, which makes its result whole."""
    found = shared(facts)
    return {
        "schema": SCHEMA,
        "state": DONE,
        "why": None,
        **{key: facts[key] for key in ("library", "version", "target")},
        "functions": len(facts["functions"]),
        "modules": len(facts["modules"]),
        "files": sorted(found.files, key=len),
        "sha256": of_text(found.text),
    }


def of_summary(entry: Entry, row: Json) -> Json:
    """As fleet.json has it."""
    about = {key: row[key] for key in ("library", "version", "target", "functions", "modules", "sha256")}
    files = [f"{LIBRARIES}/{entry.id}/{file}" for file in row["files"]]
    return {"id": entry.id, "source": entry.source, "revision": entry.revision, **about, "files": files}


def package_in(root: Path, name: str) -> Path:
    """The importable package of what was fetched: the folder itself, or the one in it that is named so, or the only one."""
    if (root / "__init__.py").is_file():
        return _importable(root)
    inner = [*sorted(root.glob("*/__init__.py")), *sorted(root.glob("src/*/__init__.py"))]
    folders = [file.parent for file in inner if not file.parent.is_symlink()]
    found = [folder for folder in folders if folder.name.isidentifier() and folder.name not in ASIDE]
    named = [folder for folder in found if folder.name.lower() == _plain(name)]
    if len(named or found) == 1:
        return (named or found)[0]
    if not found:
        raise UserError("there is no importable package in it", "其中没有可导入的包")
    names = _listed(folder.name for folder in found)
    raise UserError(
        f"there are several packages in it: {names}; say which with 'SOURCE name=NAME'",
        f"其中有多个包：{names}；请用 'SOURCE name=NAME' 指定",
    )


def _importable(folder: Path) -> Path:
    name = folder.resolve().name
    if not name.isidentifier():
        raise UserError(
            f"the package has no name that can be imported: its folder is {name!r}",
            f"该包没有可导入的名称：其目录名为 {name!r}",
        )
    return folder


def _plain(name: str) -> str:
    """`MMCV_full-1.7.2`, `mmcv-full==1.7.2`: as the package may be named that is in it."""
    return re.sub(r"[-.]", "_", re.sub(r"(==|-\d).*", "", name)).lower()


def _listed(names: Iterable[str], most: int = 8) -> str:
    first = list(names)
    return ", ".join(first[:most]) + (", ..." if len(first) > most else "")
