"""What a version is, wherever one is written: `packaging` reads it, imported only where there is one to read.

What it does not know stands here: 2.7.* and 8.3.RC1.alpha003, which are read as far as they are versions, poetry's `^` and `~`, conda's
`=`. No function but `sure` raises, whatever the text is.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING

from porter.regex import lazy

if TYPE_CHECKING:
    from packaging.specifiers import SpecifierSet
    from packaging.version import Version

OPERATOR = r"(?:===|==|~=|~|\^|>=|<=|!=|=|>|<)"
_LIMIT = lazy(rf"({OPERATOR})\s*(\d[\w.*+]*)")
_FROM = ("===", "==", "~=", "~", "^", "=", ">=", ">")  # operators that set a lower bound
_EXACT = ("===", "==", "~=", "~", "^", "=")  # operators that name one version
_BEGINNING = lazy(r"[0-9]+(?:\.[0-9]+)*(?:\.?rc[0-9]+)?", re.IGNORECASE)
_LONGEST = 100  # characters of a version
_MOST = 100  # limits of one requirement
LATEST = "99999.0"  # later than all that there are


def canonical(name: str) -> str:
    """What a package is called where it is installed from: `Torch_NPU` is torch-npu."""
    return re.sub(r"[-_.]+", "-", name).lower()


def parse(text: str) -> Version | None:
    """The version that a text is, or that it begins with: 2.7.* is 2.7. None where there is none."""
    return _parse(text[:_LONGEST])


def sure(text: str) -> Version:
    """The same of a text that is known to be one."""
    version = parse(text)
    assert version is not None, text
    return version


@lru_cache(maxsize=256)
def _parse(text: str) -> Version | None:
    from packaging.version import InvalidVersion, Version

    try:
        return Version(text)
    except InvalidVersion:
        match = _BEGINNING.match(text) if ".." not in text else None
        return Version(match[0]) if match else None


def release(text: str, width: int = 0) -> tuple[int, ...]:
    """The first three numbers: 2.7.1.post11 and 2.7.1+cu118 are 2.7.1. Zeros fill up to `width`; of no version it is ()."""
    version = parse(text)
    return (*version.release[:3], *(0,) * (width - len(version.release))) if version else ()


def base(text: str) -> str:
    """The numbers alone: 2.7.1 of 2.7.1rc1, 2.7.1.post2 and 2.7.1+cpu. Of a torch_npu, they are the torch that it is made for. What is
    no version stays as it is."""
    version = parse(text)
    return version.base_version if version else text


def begins(text: str, start: str) -> bool:
    """8.3.RC1.alpha003 begins with 8.3.RC1, 2.7.1.post11 with 2.7 and not with 2.7.1.post1."""
    whole, part = parse(text), parse(start)
    if not whole or not part or whole.release[: len(part.release)] != part.release:
        return False
    return all(
        wanted in (None, its) for wanted, its in ((part.pre, whole.pre), (part.post, whole.post), (part.dev, whole.dev))
    )


def limits(spec: str) -> list[tuple[str, tuple[int, ...]]]:
    """(operator, numbers) of `>=2.0,<2.5`, `^2.1`, `=2.1.*`."""
    pairs = ((limit[1], release(limit[2])) for limit in islice(_LIMIT.finditer(spec), _MOST))
    return [(operator, numbers) for operator, numbers in pairs if numbers]


def pinned(spec: str) -> tuple[int, ...]:
    """The version that a requirement names, or begins from; () where it only sets bounds, and for one number: ==2.*."""
    return next((numbers for operator, numbers in limits(spec) if operator in _EXACT and len(numbers) > 1), ())


def at_least(spec: str, least: str) -> bool:
    """Whether a requirement takes no version below this one, by a lower bound of its own."""
    return any(operator in _FROM and numbers >= release(least) for operator, numbers in limits(spec))


def allows(spec: str, text: str) -> bool:
    """Whether a requirement takes a version. Builds and post releases do not count: ==2.7 takes 2.7.1, 2.7.1.post2 and
    2.7.0+cpu, and !=2.7 none of them."""
    numbers = ".".join(map(str, release(text)))
    return bool(numbers) and _specifiers(spec).contains(numbers, prereleases=True)


@lru_cache(maxsize=256)
def reaches(spec: str, least: str, end: str = LATEST) -> bool:
    """Whether a requirement takes this version or a later one, before `end`."""
    first, last = release(least, 3), release(end, 3)
    bounds = [(*numbers, 0, 0)[:3] for _, numbers in limits(spec)]
    later = [(major, minor, patch + 1) for major, minor, patch in bounds]
    near = [first, *bounds, *later, _before(last)]  # a requirement that takes one at all takes one of these
    return any(first <= numbers < last and allows(spec, ".".join(map(str, numbers))) for numbers in near)


def _before(numbers: tuple[int, ...]) -> tuple[int, ...]:
    """As late as can be before a version: 1.99999.99999 for 2.0.0."""
    place = max((place for place, number in enumerate(numbers) if number), default=0)
    return (*numbers[:place], numbers[place] - 1, *(99999,) * (len(numbers) - place - 1))


@lru_cache(maxsize=4)
def _specifiers(spec: str) -> SpecifierSet:
    from packaging.specifiers import SpecifierSet

    return SpecifierSet(",".join(_as_pip_has_it(*limit) for limit in limits(spec)))


def _as_pip_has_it(operator: str, numbers: tuple[int, ...]) -> str:
    text = ".".join(map(str, numbers))
    if operator == "^":  # of poetry: the first number that is not 0 stays
        stays = next((place for place, number in enumerate(numbers) if number), len(numbers) - 1) + 1
        return f">={text},=={'.'.join(map(str, numbers[:stays]))}.*"
    if operator == "~":  # of poetry: the first two numbers stay
        return f">={text},=={'.'.join(map(str, numbers[:2]))}.*"
    if operator == "~=" and len(numbers) == 1:
        return f">={text}"
    if operator == "!=":
        return f"!={text}.*"
    return f"=={text}.*" if operator in ("===", "==", "=") else f"{operator}{text}"
