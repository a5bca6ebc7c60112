"""What torch itself has to have installed beside it, and which pins of a list leave no version of that."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from porter.engine.rule import Hit, named
from porter.text.asked import Asked
from porter.versions import reaches

# from which torch on, and the least that it asks for. From METADATA of the wheels at PyPI. Each asks for filelock, networkx, jinja2
# and fsspec as well, in whatever version
_NEEDS: dict[str, tuple[tuple[tuple[int, int], str], ...]] = {
    "typing-extensions": (((2, 2), "4.8.0"), ((2, 6), "4.10.0")),
    "sympy": (((2, 5), "1.12.1"), ((2, 6), "1.13.1"), ((2, 7), "1.13.3")),
}
# the first that knows numpy 2: what was built before says "A module that was compiled using NumPy 1.x cannot be run in NumPy 2"
_NUMPY_2 = (2, 3)
# packages that ask for one torch: the first that asks for this one, from METADATA of the wheels at PyPI
_OF_TORCH = {"vllm": (((2, 6), "0.8.0"), ((2, 7), "0.9.0"))}


def unmet(requirements: Sequence[Asked], torch: Sequence[int]) -> Iterator[tuple[Asked, str]]:
    """The requirements that take no version which this torch needs, and the least that it asks for."""
    for want in requirements:
        leasts = [least for since, least in _NEEDS.get(want.name, ()) if tuple(torch) >= since]
        if leasts and want.spec and not reaches(want.spec, leasts[-1]):
            yield want, leasts[-1]


def numpys(requirements: Sequence[Asked], torch: Sequence[int]) -> Iterator[Hit]:
    """Requirements that take a numpy which this torch, built for numpy 1, cannot exchange arrays with."""
    if tuple(torch) >= _NUMPY_2:
        return
    for want in requirements:
        if want.name == "numpy" and reaches(want.spec, "2.0.0"):
            values = named(old=want.spec, torch=".".join(map(str, torch)))
            yield Hit((want.start, want.end), "numpy", code="PRT840", values=values)


def held_torch(requirements: Sequence[Asked], first: Sequence[int]) -> Iterator[Hit]:
    """Requirements that bring a torch from before the first one that a portable port runs with."""
    for want in requirements:
        leasts = [least for torch, least in _OF_TORCH.get(want.name, ()) if tuple(first) >= torch]
        if leasts and want.spec and not reaches(want.spec, leasts[-1]):
            values = named(name=want.name, old=want.spec, new=leasts[-1], first=".".join(map(str, first[:2])))
            yield Hit((want.start, want.end), "held", code="PRT840", values=values)
