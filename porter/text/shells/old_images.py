"""Images and scripts for a Python that the target's torch has no wheels for, or with a torch of their own that stays."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from porter.regex import lazy
from porter.spans import Span
from porter.target import first_python
from porter.versions import release

_PYTHON = (
    r"(?i:miniconda|anaconda)(?P<conda>[23])-|(?:conda|mamba)[^\n#]{0,300}?[ \t\"']python={1,2}(?P<env>\d(?:\.\d+)?)"
    r"|/pip/(?P<pip>\d\.\d+)/get-pip\.py|(?mi:^[ \t]*FROM[ \t]+python:(?P<image>\d(?:\.\d+)?))"
    r"|\btorch-\d[\w.%+]*-cp(?P<wheel>\d{2,3})-[\w.]*"
    r"|\b(?:python|pip)(?P<tool>\d\.\d+)(?=[ \t]+(?:-m[ \t]+pip|install)\b)"
)
_NAMED = lazy(_PYTHON)
_OF_SCRIPTS = ("env", "tool")
_COMMENT = lazy(r"(?m)^[ \t]*#[^\n]*")
_SOURCES = lazy(r"github\.com/pytorch/pytorch(?:/archive/\S+|\.git\b|(?=[\s\"']|$))")
_BUILT = lazy(r"\bsetup\.py[ \t]+(?:install|develop|bdist_wheel|build)\b")


def old_python(text: str, first: tuple[int, int], *, is_image: bool) -> str:
    """How the commands of an image or a script name its Python, where each that is named is older than this one; else "". What
    a script fetches may be for another machine, so that it says nothing there."""
    found = _too_old(text, first, is_image=is_image)
    return " ".join(found[-1][0].split()).rpartition(" ")[2] if found else ""


def old_environments(text: str, torch: Sequence[int], *, is_image: bool) -> Iterator[tuple[Span, dict[str, str]]]:
    """Where conda gets such a Python, `python=3.7`, and what a message names: `old`, the `new` one that this torch needs, and `torch`."""
    first = first_python(torch)
    for match in _too_old(text, first, is_image=is_image) if "python=" in text else ():
        if match["env"]:
            start, (new, needing) = (
                text.rindex("python", 0, match.start("env")),
                (".".join(map(str, n)) for n in (first, torch)),
            )
            yield (start, match.end("env")), {"old": match["env"], "new": new, "torch": needing}


def _too_old(text: str, first: tuple[int, int], *, is_image: bool) -> list[re.Match[str]]:
    """Where a Python is named, if each that is named is older; without those that may be any Python 3."""
    uncommented = _COMMENT.sub(lambda comment: " " * len(comment[0]), text)
    matches = (match for match in _NAMED.finditer(uncommented) if is_image or match.lastgroup in _OF_SCRIPTS)
    found = [(match, version) for match in matches if (version := _version(match.groupdict())) != (3,)]
    return [] if any(version >= first for _, version in found) else [match for match, _ in found]


def built_torch(text: str) -> str:
    """Where the sources of torch that they build come from; else ""."""
    lines = _COMMENT.sub("", text)
    sources = _SOURCES.search(lines)
    return sources[0] if sources and _BUILT.search(lines, sources.end()) else ""


def _version(groups: dict[str, str | None]) -> tuple[int, ...]:
    """(2,) is every Python 2, and (3,) any Python 3."""
    wheel = groups.pop("wheel")
    if wheel:
        return int(wheel[0]), int(wheel[1:])
    return release(next(text for text in groups.values() if text))
