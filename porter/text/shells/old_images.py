"""Images and scripts for a Python that the target's torch has no wheels for, or with a torch of their own that stays."""

from __future__ import annotations

from porter.regex import lazy
from porter.versions import release

_PYTHON = (
    r"(?i:miniconda|anaconda)(?P<conda>[23])-|(?:conda|mamba)[^\n#]{0,300}?[ \t]python={1,2}(?P<env>\d(?:\.\d+)?)"
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
    matches = (match for match in _NAMED.finditer(_COMMENT.sub("", text)) if is_image or match.lastgroup in _OF_SCRIPTS)
    found = [(match, _version(match.groupdict())) for match in matches]
    if not found or any(version >= first for _, version in found if version != (3,)):
        return ""
    oldest = [match[0] for match, version in found if version != (3,)]
    return " ".join(oldest[-1].split()).rpartition(" ")[2] if oldest else ""


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
