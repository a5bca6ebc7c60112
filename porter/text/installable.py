"""Whether a torch for NPUs can be installed beside what else a list asks for, and which requirements no NPU host has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import product

from porter.engine.facts import Lists
from porter.engine.portable import SINCE as PORTABLE_SINCE
from porter.engine.portable import shared
from porter.engine.rule import Hit, named
from porter.files.kinds import REQUIREMENTS, YAML, kind_of
from porter.regex import lazy
from porter.rulebook.table import Wheels, load
from porter.target import Target, first_python
from porter.text.asked import Asked
from porter.text.torch_needs import dropped, held_torch, numpys, unmet
from porter.text.wheels import last_python, without_aarch64
from porter.versions import allows, reaches, release

_PLATFORM = lazy(r"platform|os_name")
_EXTRA = lazy(r"""extra[ \t]*==[ \t]*["']([^"']*)["']""")
_MACHINES = ("x86_64", "aarch64")
_PYTHONS = ("2.7", "3.5", "3.6", "3.7", "3.8", "3.9", "3.10", "3.11", "3.12", "3.13")
_FROZEN = lazy(r"=([\d.]+)=")
_ANY = ((0, 0), (99, 0))
# packages that ask for one torch: from which version on, and before which
_OF_ONE_TORCH = {
    "vllm": _ANY,
    "xformers": _ANY,
    "functorch": _ANY,
    "torchtext": ((0, 8), (0, 18)),
    "torchdata": ((0, 3), (0, 7)),
}
_PACKAGE = ("setup.py", "setup.cfg", "pyproject.toml")  # what a package asks for, whose project may import torch
_NEWEST = 15  # Python 3.x


@lru_cache(maxsize=256)
def off_linux(marker: str) -> bool:
    """Whether a marker of PEP 508, with its semicolon, holds on no machine with Linux: NPUs have no other."""
    if not _PLATFORM.search(marker):
        return False
    from packaging.markers import InvalidMarker, Marker

    try:
        wanted = Marker(marker.lstrip("; \t"))
    except InvalidMarker:
        return False
    linux = {"sys_platform": "linux", "platform_system": "Linux", "os_name": "posix"}
    for machine, python, extra in product(_MACHINES, _PYTHONS, ("", *_EXTRA.findall(marker))):
        version = {"python_version": python, "python_full_version": f"{python}.0"}
        if wanted.evaluate({**linux, **version, "platform_machine": machine, "extra": extra}):
            return False
    return True


def companion(name: str, torch: Sequence[int]) -> tuple[int, ...]:
    """torchvision 0.22.1 belongs to torch 2.7.1, torchaudio has torch's own numbers; () of another torch than 2."""
    major, minor, patch = (*torch, 0, 0)[:3]
    if major != 2:
        return ()
    return (major, minor, patch) if name == "torchaudio" else (0, minor + 15, patch)


def misfit(text: str, want: Asked, torch: Sequence[int]) -> Iterator[Hit]:
    """What there is to say of a pinned torchvision or torchaudio that belongs to another torch."""
    torch = (*torch, 0, 0)[:3]
    right = companion(want.name, torch)
    written = text[slice(*want.version)] if want.version else ""
    if want.version is None or not right or release(written, 3) == right and "+cu" not in written:
        return
    new = _dotted(right)
    values = named(name=want.name, old=written, new=new, torch=_dotted(torch))
    edits = () if want.locked or want.kind == "conda" else ((*want.version, new),)
    yield Hit((want.start, want.end), "companion", code="PRT840", values=values, edits=edits)


def fits_its_torch_npu(text: str, torch: Asked, requirements: Sequence[Asked]) -> bool:
    """Whether the same list pins the torch_npu of this torch, be it one that porter knows or not."""
    pins = [want.version for want in requirements if want.name == "torch-npu" and want.version]
    if not pins or torch.version is None:
        return False
    return release(text[slice(*pins[0])], 3) == release(text[slice(*torch.version)], 3)


def obstacles(
    path: str, text: str, requirements: Sequence[Asked], torch: Sequence[int], wheels: Mapping[str, Wheels], loads: bool
) -> Iterator[Hit]:
    """Requirements that leave no torch of the target: edits of the others would make a list that nothing installs. `loads`:
    whether the project imports torch, which then goes into the environment of its first list, whoever brings it."""
    lists_torch = _lists_torch(requirements)
    if not lists_torch and not _holds_torch(path, loads):
        return
    # one environment; of other lists, each extra is another
    whole = kind_of(path) in (REQUIREMENTS, YAML) or path.rpartition("/")[2] == "Pipfile"
    if whole:
        yield from _bound(text, requirements, torch)
    if lists_torch and whole:
        yield from _refused(requirements, torch)
    if lists_torch:
        yield from dropped(requirements, torch)
    outgrown: dict[tuple[bool, tuple[int, ...]], list[Asked]] = {}  # by the last Python that they have wheels for
    for want in requirements:
        if want.name in ("torchvision", "torchaudio"):
            right = companion(want.name, torch)
            if right and want.spec and want.version is None and not allows(want.spec, _dotted(right)):
                values = named(name=want.name, old=want.spec, new=_dotted(right), torch=_dotted(torch))
                yield Hit((want.start, want.end), "companion-range", code="PRT840", values=values)
        elif (whole or want.forced) and (last := _last_python(want, text, wheels)) and last < first_python(torch):
            outgrown.setdefault((want.name == "python", last), []).append(want)
    for (is_python, end), wants in outgrown.items():
        values = named(
            name=wants[0].name if is_python else ", ".join(f"{want.name}{want.spec}" for want in wants),
            old=wants[0].spec if is_python else "",
            python=_dotted(end),
            new=_dotted(first_python(torch)),
            torch=_dotted(torch),
        )
        why = "python" if is_python else "last-python" if lists_torch else "first-python"
        yield Hit((wants[0].start, wants[0].end), why, code="PRT840", values=values)


def _lists_torch(requirements: Sequence[Asked]) -> bool:
    return any(want.name in ("torch", "pytorch", "torchvision", "torchaudio") for want in requirements)


def _holds_torch(path: str, loads: bool) -> bool:
    return loads and "/" not in path and (kind_of(path) == REQUIREMENTS or path in _PACKAGE)


def around(path: str, requirements: Sequence[Asked], target: Target, lists: Lists, loads: bool) -> Iterator[Hit]:
    """What the target's torch and its Python ask of other lines, that the lines of torch need not wait for."""
    if _lists_torch(requirements) or _holds_torch(path, loads):
        yield from _backports(path, requirements, target.torch)
        yield from numpys(requirements, target, lists)
        yield from without_aarch64(requirements, target.torch)
        if target.style == "portable":
            yield from held_torch(requirements, min(shared(target), PORTABLE_SINCE))


def _backports(path: str, requirements: Sequence[Asked], torch: Sequence[int]) -> Iterator[Hit]:
    """What a Python without a part of its own needs, and a Python that has it refuses to install."""
    for want in requirements:
        rows = load().pins.get(f"backport:{want.name}")
        if not rows or want.kind == "conda" or "python" in want.marker:
            continue
        [(first, last)] = rows
        if not want.spec or reaches(want.spec, "0", first):
            continue
        values = named(
            name=want.name, old=want.spec, python=last, torch=_dotted(torch), new=_dotted(first_python(torch))
        )
        whole = want.version and not want.marker and not want.locked and kind_of(path) == REQUIREMENTS
        edits = ((want.version[1], want.version[1], older_python(want.name)),) if want.version and whole else ()
        yield Hit((want.start, want.end), "backport", code="PRT840", values=values, edits=edits)


def older_python(name: str) -> str:
    """The marker for the Pythons that a part of Python is installed on; "" of anything else."""
    rows = load().pins.get(f"backport:{name}")
    return f'; python_version <= "{rows[0][1]}"' if rows else ""


def _bound(text: str, requirements: Sequence[Asked], torch: Sequence[int]) -> Iterator[Hit]:
    """Packages that ask for one torch, pinned beside another than the target's."""
    pinned = next((want for want in requirements if want.name == "torch" and want.version), None)
    if pinned is None or pinned.version is None or release(text[slice(*pinned.version)], 3) == (*torch, 0, 0)[:3]:
        return
    for want in requirements:
        first, end = _OF_ONE_TORCH.get(want.name, ((), ()))
        version = release(text[slice(*want.version)], 2) if want.version else ()
        if version and first <= version < end and want.marker == pinned.marker:
            values = named(name=want.name, old=want.spec, pin=pinned.spec, torch=_dotted(torch))
            yield Hit((want.start, want.end), "bound", code="PRT840", values=values)


def _refused(requirements: Sequence[Asked], torch: Sequence[int]) -> Iterator[Hit]:
    """Pins that the target's torch cannot be installed with. What conda pins, pip raises with the torch that it installs."""
    for want, least in unmet([want for want in requirements if want.kind != "conda"], torch):
        values = named(name=want.name, old=want.spec, new=least, torch=_dotted(torch))
        yield Hit((want.start, want.end), "needed", code="PRT840", values=values)


def _dotted(numbers: Sequence[int]) -> str:
    return ".".join(map(str, numbers))


def _last_python(want: Asked, text: str, wheels: Mapping[str, Wheels]) -> tuple[int, ...] | None:
    """That a requirement leaves, if it leaves out any."""
    if want.name == "python":  # of conda, which freezes into text as well: `python=3.7.6=h0371630_2`
        frozen = _FROZEN.match(want.spec)
        given = frozen[1] if frozen else text[slice(*want.version)] if want.version else ""
        written = release(given, 2)[:2] if given else ()
        return written or (_last_of(want.spec) if want.spec else None)
    if want.kind == "conda" or not want.spec or "python" in want.marker:
        return None
    return last_python(want.spec, wheels.get(want.name, ()))


def _last_of(spec: str) -> tuple[int, int] | None:
    minors = (minor for minor in range(_NEWEST, 0, -1) if allows(spec, f"3.{minor}.0") or allows(spec, f"3.{minor}.99"))
    return next(((3, minor) for minor in minors), None)


def python_left_out(old: str, torch: Sequence[int]) -> Mapping[str, str] | None:
    """What a message names of the Pythons of a package, `>=3.6,<3.9`, where none of them runs the target's torch."""
    last = _last_of(old) if old[:1] in tuple("=<>~!^") else None
    if last is None or last >= first_python(torch):
        return None
    return {"old": old, "new": _dotted(first_python(torch)), "torch": _dotted(torch)}
