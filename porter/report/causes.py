"""What is left for a person, cause by cause: one package that no NPU has is one thing to do, in however many files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple, Protocol, TypeVar

from porter.engine.together import further_places
from porter.files.paths import SIDE, is_test
from porter.finding import SEVERITIES, Finding, rank
from porter.regex import lazy
from porter.versions import canonical


class Place(Protocol):
    """What of a finding decides how it is counted; a document's have it, too."""

    @property
    def path(self) -> str: ...
    @property
    def code(self) -> str: ...
    @property
    def severity(self) -> str: ...
    @property
    def status(self) -> str: ...
    @property
    def values(self) -> Mapping[str, str] | tuple[tuple[str, str], ...]: ...


Counted = TypeVar("Counted", bound=Place)


class Cause(NamedTuple):
    """Findings that one thought answers."""

    subject: str  # a package, a kernel, an API ...; "" where the message says all
    places: tuple[Finding, ...]  # the worst first, and of equal ones the project's own before its tests

    @property
    def lead(self) -> Finding:
        return self.places[0]

    @property
    def is_aside(self) -> bool:
        """Whether it concerns nothing but tests, examples and the like."""
        return is_aside(self.lead.path)


# some projects keep the script that starts the training among their tools
_APART = lazy(r"(?:^|/)(?:demos?(?:[/_]|\.py$)|tools?/(?!.*(?:train|finetune|launch|main|dist|(?:^|[/_])run)))")
# what is said of it -> the severities
KINDS = {"stops": ("blocker", "wrong"), "slows": ("slow",)}


def left(due: Iterable[Counted]) -> dict[str, list[Counted]]:
    """What no edit of porter's settles, and what is about the code instead of about porter."""
    manual = [f for f in due if f.status == "manual" and not f.code.startswith("PRT0")]
    return {kind: [f for f in manual if f.severity in severities] for kind, severities in KINDS.items()}


def causes(findings: Iterable[Finding], subject: Callable[[Finding], str]) -> list[Cause]:
    """The worst first; then what concerns the project's own code, then what stands in most places.

    A kernel and the calls that end in it are one cause.
    """
    findings = list(findings)
    kernels = {f.path for f in findings} & {called_kernel(f) for f in findings}
    groups: dict[tuple[str, ...], list[Finding]] = {}
    for f in findings:
        file = f.path if f.path in kernels else called_kernel(f)
        key = (file,) if file in kernels else (f.code, f.why, canonical(subject(f)))
        groups.setdefault(key, []).append(f)
    sorted_groups = (sorted(group, key=own_first) for group in groups.values())
    return sorted((Cause(subject(group[0]), tuple(group)) for group in sorted_groups), key=_rank)


def is_aside(path: str) -> bool:
    """Whether a file is no part of the training: a test, a demo, documentation or a tool."""
    return is_test(path) or SIDE.search(path) is not None or _APART.search(path) is not None


def called_kernel(finding: Finding) -> str:
    """The file with the kernel that a call ends in, which its message names."""
    return dict(finding.values).get("path", "")


def own_first(finding: Finding) -> tuple[bool, int, bool, str, int, int]:
    """The project's own code, the worst, the calls before their kernel."""
    weight = SEVERITIES.index(finding.severity)
    # the message of a call names its kernel, too
    return (is_aside(finding.path), weight, not called_kernel(finding), finding.path, finding.line, finding.column)


def _rank(cause: Cause) -> tuple[bool, int, int, tuple[int, str, int, int, str]]:
    places = sum(
        1 + len(further_places(f.path, dict(f.values))) for f in cause.places
    )  # one finding may speak for many
    return (cause.is_aside, SEVERITIES.index(cause.lead.severity), -places, rank(cause.lead))
