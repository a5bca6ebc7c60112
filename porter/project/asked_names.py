"""What the lists of a project ask for, of packages whose version decides about a rule: torch at all, which Lightning, and those
whose options and names came or went with a release."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from porter.regex import lazy
from porter.rulebook.table import load
from porter.versions import at_least

_Texts: TypeAlias = Sequence[tuple[str, bytes]]  # (folder, text) of each list
_Asked: TypeAlias = tuple[str, str, str]  # (package, versions, folder of the list)

_TORCH = lazy(rb"(?m)(?:^[ \t]*(?:-[ \t]+)?|[\"'])(?:py)?torch(?:vision|audio)?(?![\w./-])")  # a list asks for torch
_LIGHTNING = lazy(
    rb"^[ \t]*(?:-[ \t]+)?[\"']?pytorch[-_]lightning(?:\[[^\]\n]{0,80}\])?[ \t]*([=<>~!][^\n;#\"']{0,80})", re.MULTILINE
)
# a section of setup.cfg for another tool
_SECTION = lazy(rb"^\[(?:isort|tool:isort|mypy[^\]\n]*|flake8|tool:pytest)\][^\n]*(?:\n(?!\[)[^\n]*)*", re.MULTILINE)
# packages of which a rule asks whether a list has them, or in which versions
_OF_RULES = ("pillow", "pyyaml", "cpm_kernels", "cpm-kernels")
_OF_LISTS = frozenset({"requirements", "requirement", "deps", "env", "envs", "environments", "docker"})


def served_folder(path: str) -> str:
    """The folder whose programs a list is for, as "part/"; "" for the whole project. A folder of lists is for the one above."""
    folder = path.rpartition("/")[0]
    if folder.rpartition("/")[2].lower() in _OF_LISTS:
        folder = folder.rpartition("/")[0]
    return f"{folder}/" if folder else ""


def asked_by_name(lists: _Texts) -> Iterator[_Asked]:
    """Which Lightning, and torch at all."""
    rows = {("pytorch-lightning", spec, folder) for spec, folder in _specs(_LIGHTNING, "lightning", lists)}
    yield from sorted(rows)
    if any(_TORCH.search(data) for _, data in lists):
        yield "torch", "", ""


def asked_of_options(lists: _Texts, scripts: _Texts = ()) -> tuple[_Asked, ...]:
    """Packages whose version decides about an option. If no list names a package, scripts count, but only if none of them
    installs a version that is too old for the options."""
    if not lists and not scripts:
        return ()
    rows = (row for several in load().options.values() for row in several)
    met = sorted({row.met for row in rows if row.met})
    decided = {package.names[0] for package in load().packages.values() if any(package.from_versions)}
    gone = {rows[1][1] for name, rows in load().pins.items() if name.startswith("gone:")} - {""}
    names = sorted({*_OF_RULES, *decided, *gone, *(requirement.partition(">=")[0] for requirement in met)})
    found: set[_Asked] = set()
    # setup.cfg has sections of other tools, which list packages as well
    lists = [(folder, _SECTION.sub(b"", data).lower()) for folder, data in lists] if names else []
    for name in names:
        line = rb"^[ \t]*(?:-[ \t]+)?[\"']?%s(?![\w.-])" % name.encode()  # with or without a version
        inline = rb"[\"']%s(?=[\[ ]*[^\n\"']{0,40}[=<>])" % name.encode()
        asks = re.compile(rb"(?:%s|%s)(?:\[[^\]\n]{0,80}\])?[ \t]*([^\n;#\"']{0,80})" % (line, inline), re.MULTILINE)
        specs = {*_specs(asks, name, lists)}
        if not specs:
            runs = (
                rb"\bpip3?[ \t]+install\b[^\n;&|#]*[ \t\"']%s(?![\w.-])(?:\[[^\]\n]{0,80}\])?([^\s;&|#\"']*)"
                % name.encode()
            )
            leasts = [requirement.partition(">=")[2] for requirement in met if requirement.startswith(f"{name}>=")]
            specs = {*_specs(re.compile(runs), name, scripts)}
            specs = specs if all(at_least(spec, least) for spec, _ in specs for least in leasts) else set()
        found.update((name, spec, folder) for spec, folder in specs)
    return tuple(sorted(found))


def _specs(asks: re.Pattern[bytes], name: str, lists: Iterable[tuple[str, bytes]]) -> Iterator[tuple[str, str]]:
    for folder, data in lists:
        for match in asks.finditer(data) if name.encode() in data else ():
            yield match[1].strip().decode("ascii", "replace"), folder
