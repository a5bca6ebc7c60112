"""What rules/*.toml says, as plain data: which names move where, which strings are devices, which variables change.

Prose is kept apart (`prose`): an analysis without findings never reads it. Both come compiled from a cache.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeAlias

from porter.regex import lazy
from porter.resources import rules_dir
from porter.rulebook import compiled
from porter.versions import release

Stanza: TypeAlias = "dict[str, Any]"  # as TOML has it
LANGUAGES = ("en", "zh")
FLAGS = ("once", "apart", "inventory")  # of a message, or of all messages of a rule
STATUSES = ("native", "plugin", "replace", "none")  # of a package: what it takes to use it on NPUs


class Move(NamedTuple):
    """One dotted name of the CUDA side."""

    code: str
    tail: str | None  # below the target's namespace ("amp.autocast"); None where there is no counterpart
    fix: str | None  # safe | review; None where there is nothing to write
    severity: str
    effort: str
    why: str  # key of the message
    stays: bool = False  # works on NPUs as it is: known, and no finding


class Variable(NamedTuple):
    """One environment variable."""

    code: str
    to: str | None
    value: str  # keep | bytes-to-mb
    takes: str  # a regular expression for the values that may be taken over
    quiet: str  # and one for those that ask for no more than NPUs do unasked: it may go
    fix: str | None
    severity: str
    effort: str
    why: str
    older: str  # what some torch_npus read instead of `to`, and which
    older_for: tuple[str, ...]


class Sink(NamedTuple):
    """Where a string is a device or a backend."""

    kind: str
    calls: tuple[str, ...]
    methods: tuple[str, ...]
    position: int | None
    keywords: tuple[str, ...]


class Parameter(NamedTuple):
    """Arguments that are called something else on the other side."""

    code: str
    rename: dict[str, str]
    remove: tuple[str, ...]
    fix: str | None
    severity: str
    effort: str
    why: str
    positional: int | None  # how many positional arguments mean the same on both sides; None where all do


class Package(NamedTuple):
    """A third-party package that is imported."""

    code: str
    status: str  # of STATUSES
    since: str | None  # native, plugin: the first version that runs on NPUs
    beside: tuple[tuple[str, str], ...]  # (package, the first version that does so together with it)
    # programs for a version before this one may have to be changed for the first one, which also asks for what comes second, and
    # cannot be installed without what comes last: (package, its least version)
    raised: tuple[str, str, tuple[tuple[str, str], ...]]
    replacement: tuple[str, ...]  # what is installed, imported or called in its place
    names: tuple[str, ...]  # what it is called where packages are installed from
    anywhere: tuple[str, ...]  # those of them that install without a GPU and do nothing until they are imported
    on_host: tuple[str, ...] | None  # what of it needs no device; None where nobody has looked
    methods: tuple[str, ...]  # of its objects, that need one all the same
    device: int | None  # where a function takes the device that it chooses by CUDA alone; None where that says nothing
    # the first torch that it does not go with; its first version that is built for a torch: older ones are plain Python, and go with
    # each; and the first one of which nothing is to be told. "" where that says nothing
    from_versions: tuple[str, str, str]
    severity: str
    why: str
    # the name that its finding has, the first of those that have one message, which says none; and what files import of it, where
    # its row goes by the name of its list, else ""
    known_as: tuple[str, str]


class Asking(Protocol):
    """What the lists of a project ask for."""

    @property
    def asked(self) -> Sequence[tuple[str, str, str]]: ...  # (package, what of it, folder of the list)

    # what the lists for a file ask, if only for older versions
    def below(self, requirement: str, path: str) -> str: ...


def goes_with(package: Package, torch: tuple[int, ...], lists: Asking, path: str) -> bool:
    """Whether nothing is to be told of it beside this torch."""
    breaks_with, plain_before, mended_in = package.from_versions
    if plain_before and lists.below(f"{package.names[0]}>={plain_before}", path):
        return True
    is_listed = mended_in and any(name == package.names[0] for name, _, _ in lists.asked)
    if is_listed and not lists.below(f"{package.names[0]}>={mended_in}", path):
        return True
    return bool(breaks_with) and torch < release(breaks_with)


def package_row(name: str, packages: Mapping[str, Package]) -> tuple[str, Package] | None:
    """(imported name, row) of the longest part of a dotted name that the table knows."""
    while name:
        if name in packages:
            return name, packages[name]
        name = name.rpartition(".")[0]
    return None


class Option(NamedTuple):
    """A keyword argument, or an entry of a mapping, with a value that only GPUs know."""

    code: str
    values: tuple[str, ...]  # as written in the source, strings without their quotes
    calls: tuple[str, ...]  # resolved names or last words of what is called; empty where the keyword says it all
    to: str | None
    beside: tuple[str, ...]  # with one of these, a script may hand it over as well: `--keyword value`
    met: str | None  # what a project's lists ask for where nothing is to do: "name>=4.51"
    unmet: str  # key of the message where they take no such version; "" where it is the same
    severity: str
    effort: str
    why: str


class Setting(NamedTuple):
    """A key of a settings file, and what it may hold."""

    code: str
    kind: str  # device | backend: every key that is named like one; else ""
    keys: tuple[str, ...]
    value: str  # a regular expression for all of the value
    excepted: tuple[str, ...]
    under: tuple[str, ...]  # one of these keys is above it
    # one of these keys is somewhere in the file, or stands beside it with a value: "accelerator: gpu"
    beside: tuple[str, ...]
    yields: tuple[str, ...]  # where one of these, in the same mapping, has a finding of its own, that says it all
    files: tuple[str, ...]  # patterns of names
    replace: str  # key | value
    to: str | None
    fix: str | None
    severity: str
    effort: str
    why: str


class Kernel(NamedTuple):
    """A CUDA kernel that goes by a well-known name, and what is said of it."""

    match: str  # a regular expression, looked for in its names in lower case
    replacement: tuple[str, ...]
    why: str
    composed: bool = False  # a few operators of torch are what takes its place

    @property
    def has_operator(self) -> bool:
        """Whether NPUs have an operator for it, which is faster than what stands beside the kernel in plain torch."""
        return not self.composed and any(name.startswith(("torch_npu.", "mx_driving")) for name in self.replacement)


Wheels: TypeAlias = tuple[tuple[str, str], ...]  # (a Python, the first version with wheels for it), the oldest first


class Tables(NamedTuple):
    rules: dict[str, dict[str, Any]]  # code -> slug, severity, effort, messages {why: (severity, effort)}
    moves: dict[str, Move]
    variables: dict[str, Variable]
    sinks: list[Sink]
    parameters: dict[str, Parameter]
    packages: dict[str, Package]  # by the name that is imported
    options: dict[str, list[Option]]  # by keyword
    settings: list[Setting]
    kernels: list[Kernel]
    roads: tuple[str, ...]  # libraries built on torch, by the name that is imported
    wheels: dict[str, Wheels]  # by the name that is installed
    hints: dict[str, tuple[str, ...]]  # kind -> what names say (rules/hints.toml)
    # by "kind:name", pairs; "backport", parts of Python that were packages before: the version from which on they refuse a Python
    # after the second; "last", by Python, the last version with wheels for it; "gone", names that are no more: ("torch", "2.6"), who
    # took them since when, ("package", ""), and how what takes their place is written; by torch, "needed", the least version of what
    # torch needs beside it, "asks", the first that asks for this torch, and "drops", the first that uses no older torch
    pins: dict[str, tuple[tuple[str, str], ...]]

    def kernel(self, *names: str) -> Kernel | None:
        """The first that goes by one of these names."""
        text = " ".join(names).lower()
        return next((kernel for kernel in self.kernels if re.search(kernel.match, text)), None)

    def kernel_of_call(self, module: str, name: str, kernels: str) -> Kernel | None:
        """Of a function of an extension: its own name says most, and one kernel says more than several. What the extension is called tells of `forward` alone."""
        known = self.kernel(name)
        if known is None and hint("names-no-kernel").search(name):
            return self.kernel(f"{module}_{name}", kernels)
        if known is None and ", " in kernels:  # one of several may be a helper: they have to be of one kind
            several = [self.kernel(kernel) for kernel in kernels.partition(" (+")[0].split(", ")]
            return several[0] if all(kernel == several[0] for kernel in several) else None
        return known or self.kernel(kernels)


@lru_cache(maxsize=4)
def load(directory: Path | None = None) -> Tables:
    data = compiled.section(directory or rules_dir(), "tables")
    return Tables(
        data["rules"],
        {name: Move._make(row) for name, row in data["moves"].items()},
        {name: Variable._make(row) for name, row in data["variables"].items()},
        [Sink._make(row) for row in data["sinks"]],
        {name: Parameter._make(row) for name, row in data["parameters"].items()},
        {name: Package._make(row) for name, row in data["packages"].items()},
        {name: [Option._make(row) for row in rows] for name, rows in data["options"].items()},
        [Setting._make(row) for row in data["settings"]],
        [Kernel._make(row) for row in data["kernels"]],
        tuple(data["roads"]),
        data["wheels"],
        data["hints"],
        data["pins"],
    )


def names_older(tables: Tables, torch_npu: str) -> bool:
    """Whether a torch_npu reads a variable by another name than the newest do."""
    return any(torch_npu in row.older_for for row in tables.variables.values())


def read_by(tables: Tables, torch_npu: str) -> Tables:
    """The tables with the variables that a torch_npu reads."""
    rows = tables.variables.items()
    read = {name: row._replace(to=row.older) if torch_npu in row.older_for else row for name, row in rows}
    return tables._replace(variables=read)


def hints(kind: str) -> frozenset[str]:
    """Names of rules/hints.toml."""
    return frozenset(load().hints[kind])


def any_of(kind: str) -> str:
    """The words of a kind as a part of a pattern."""
    return "|".join(load().hints[kind])


def hint(kind: str) -> re.Pattern[str]:
    """What finds one of its words in a name."""
    return lazy(any_of(kind), re.IGNORECASE)


@lru_cache(maxsize=4)
def prose(directory: Path | None = None) -> compiled.Section:
    """Everything a person reads: {"rules": {code: {...}}, "examples": {name: [before, after]}}."""
    return compiled.section(directory or rules_dir(), "prose")
