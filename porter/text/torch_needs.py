"""What torch itself has to have installed beside it, and which pins of a list leave no version of that."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from porter.engine.facts import Lists
from porter.engine.rule import Hit, named
from porter.rulebook.table import load
from porter.target import Target, first_python
from porter.text.asked import Asked
from porter.versions import reaches, release

# the first that knows numpy 2: what was built before says "A module that was compiled using NumPy 1.x cannot be run in NumPy 2"
_NUMPY_2 = (2, 3)


def unmet(requirements: Sequence[Asked], torch: Sequence[int]) -> Iterator[tuple[Asked, str]]:
    """The requirements that take no version which this torch needs, and the least that it asks for."""
    for want in requirements:
        least = _least(want, "needed", torch)
        if least and want.spec and not reaches(want.spec, least):
            yield want, least


def numpys(requirements: Sequence[Asked], target: Target, lists: Lists) -> Iterator[Hit]:
    """Requirements that take a numpy which this torch, built for numpy 1, cannot exchange arrays with. Where the lists that name
    versions, or pin Python, leave that numpy out, one that names none does not bring it."""
    if target.torch >= _NUMPY_2 or lists.leaves_out("2.0.0", python=first_python(target.torch)):
        return
    for want in requirements:
        if want.name == "numpy" and reaches(want.spec, "2.0.0"):
            values = named(old=want.spec, torch=".".join(map(str, target.torch)))
            yield Hit((want.start, want.end), "numpy", code="PRT840", values=values)


def held_torch(requirements: Sequence[Asked], first: Sequence[int]) -> Iterator[Hit]:
    """Requirements that bring a torch from before the first one that a portable port runs with."""
    for want in requirements:
        least = _least(want, "asks", first)
        if least and want.spec and not reaches(want.spec, least):
            values = named(name=want.name, old=want.spec, new=least, first=".".join(map(str, first[:2])))
            yield Hit((want.start, want.end), "held", code="PRT840", values=values)


def dropped(requirements: Sequence[Asked], torch: Sequence[int]) -> Iterator[Hit]:
    """Requirements that take versions which no longer use this torch, where the list leaves torch open: with the newest torch,
    the newest of them runs."""
    specs = [want.spec for want in requirements if want.name in ("torch", "pytorch")]
    if any(want.version for want in requirements if want.name in ("torchvision", "torchaudio")):
        return  # of the torch that they belong to
    for want in requirements:
        ends = [end for end in load().pins.get(f"drops:{want.name}", ()) if tuple(torch) < release(end[0])]
        since, first = ends[0] if ends else ("", "")
        if first and reaches(want.spec, first) and all(reaches(spec, since) for spec in specs):
            values = named(name=want.name, new=first, torch=".".join(map(str, torch)))
            yield Hit((want.start, want.end), "dropped", code="PRT840", values=values)


def _least(want: Asked, asked: str, torch: Sequence[int]) -> str:
    """The least version that goes with this torch; "" where the rules know of none."""
    rows = load().pins.get(f"{asked}:{want.name}", ())
    leasts = [least for since, least in rows if tuple(torch) >= release(since)]
    return leasts[-1] if leasts else ""
