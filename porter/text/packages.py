"""What a project asks to have installed, wherever it says so: torch and its builds, CUDA's parts, packages for GPUs only."""

from __future__ import annotations

import re
from collections.abc import Iterator, Set
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from porter.engine.rule import Hit, named
from porter.engine.session import RuleSet
from porter.regex import lazy
from porter.rulebook.table import Package, any_of
from porter.text import first_versions, for_pages
from porter.text.built_here import built_here
from porter.text.document import Document
from porter.text.installable import around, fits_its_torch_npu, misfit, obstacles, off_linux
from porter.text.nobodys import listed, nobodys, without
from porter.versions import allows, base, canonical, release

_REQUIREMENT = lazy(
    r"(?P<name>[A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?)(?:[ \t]*\[[^\]]*\])?[ \t]*"
    r"(?:(?P<url>@[^;#]*)|\(?(?P<spec>(?:===|==|~=|!=|>=|<=|>|<|\^|=)[ \t]*[^;#)\s]*(?:[ \t]*(?:,[ \t]*)?(?:===|==|~=|!=|>=|<=|>|<)[ \t]*[^;#)\s,]+)*)?\)?)?"
    r"[ \t]*(?P<marker>;[^#]*)?"
)
# a folder of the project that is installed, by its name: submodules/simple-knn. What is built there may be torch itself
FOLDER = lazy(
    r"(?!\S*://)(?:[\w.-]*/)+(?!(?:torch|pytorch|torchvision|torchaudio)/?(?:\s|$))([A-Za-z][\w-]*[A-Za-z0-9])/?(?=[ \t]*(?:[#\n\"',\]]|$))"
)
_PARTS = lazy(any_of("part-of-cuda"))
_BUILD = lazy(r"[-_]?cu(?:da)?-?\d{2,3}(?:-\d{1,2}|x)?$")  # of a normalised name, dgl-cuda10.2 is dgl-cuda10-2
_OURS = lazy(r"(?i)(?:^|[/_.-])(?:npu|ascend)s?(?:$|[/_.-])")
_APPLES = lazy(r"(?i)(?:^|[/_.-])(?:mlx|(?:osx|mac|macos|darwin)(?![a-z]))[^/]*$")  # a list for a machine of Apple's
# what only an environment for another accelerator holds, whatever else it asks for
_ELSEWHERE = (
    rf"(?:{any_of('package-of-another-accelerator')})(?![-_\w])"
    r"(?![^\n]*;[ \t]*(?:extra|implementation|os_|platform|python|sys_))"
)
_INSTALLED_ELSEWHERE = lazy(rf"^(?![^\n]*uninstall)(?:[^#\n]*[^#\n\w-])?{_ELSEWHERE}", re.MULTILINE)
_NUMBERS = 3  # of a version of torch
_NAMED = 3  # parts of CUDA that one finding names; from as many pinned ones on, a list is of `pip freeze`
# a package by the name of its repository
CLONED = lazy(r"(?:-e[ \t]+|--editable[ \t=]+)?git\+\w+://(?=\S*$)\S*?/([\w-]+)(?:\.git)?/?(?:[@#]|$)")
# a wheel by its address: what the package is called, and what this one is built for. Those of torch are a matter of their index
WHEEL = lazy(
    r"[\"']?https?://\S*/(?!torch(?:vision|audio)?-)([A-Za-z]\w*)-\d[\w.]*(?:(?:\+|%2B)([\w.]+))?-[\w.-]+\.whl(?=[#\s\"']|$)"
)
_FOR_CUDA = lazy(r"cu(?:da)?\d+(?:\.\d+)*")
EXACT = lazy(r"(?:===|==|=)?[ \t]*(\d[\w.+!-]*)")  # without an operator as poetry has it


@dataclass(frozen=True, slots=True)
class Wanted:
    """One requirement. Spans are of the file's text; `version` is an exact version without its operator."""

    name: str  # normalised
    start: int
    end: int
    spec: str
    version: tuple[int, int] | None
    marker: str = ""
    kind: str = "pip"  # pip | conda | script: what a script installs with pip, and no list of the project asks for
    more: tuple[int, str, str] | None = None  # where another may follow, and what stands before and behind it
    locked: bool = False  # by hashes
    forced: bool = False  # on every user of a package: what it cannot be without
    optional: bool = False  # only for those who ask for its extra
    builds: bool = False  # only what builds the package has it
    extra: tuple[int, str, str] | None = None  # where an optional list of that package may have another, as in `more`


def wanted(text: str, start: int, end: int, **more: Any) -> Wanted | None:
    """The requirement that these characters hold."""
    if folder := FOLDER.match(text, start, end):
        return Wanted(canonical(folder[1]), folder.start(), folder.end(), "", None, **more)
    match = _REQUIREMENT.match(text, start, end)
    if not match:
        return None
    spec = (match["spec"] or "").strip()
    exact = EXACT.fullmatch(spec) if spec else None
    spec_start = match.start("spec") + (match["spec"] or "").index(spec) if spec else 0
    version = (spec_start + exact.start(1), spec_start + exact.end(1)) if exact else None
    marker = (match["marker"] or "").rstrip()
    name = canonical(match["name"])
    return Wanted(name, match.start("name"), max(match.end(), match.start() + 1), spec, version, marker, **more)


def built(document: Document, wheel: re.Match[str], start: int) -> Iterator[Hit]:
    """What is said of a wheel for CUDA of a package that no rule speaks of. `wheel`: a match of WHEEL in the text at `start`."""
    build = _FOR_CUDA.search(wheel[2] or "")
    if build and canonical(wheel[1]) not in _rows(document.session.rules):
        values = named(name=wheel[1], old=build[0])
        yield Hit((start + wheel.start(1), start + wheel.end()), "built", code="PRT841", values=values)


def for_npus(path: str) -> bool:
    """Whether a file says by its name that it is for NPUs already."""
    return _OURS.search(path) is not None


def for_others(text: str) -> bool:
    """Whether lines of requirements, or of a script, install what is for another accelerator."""
    return _INSTALLED_ELSEWHERE.search(text) is not None


def hits(document: Document, requirements: list[Wanted]) -> Iterator[Hit]:
    session = document.session
    if for_npus(document.path) or _APPLES.search(document.path) or document.path in session.facts.accelerators.for_cpus:
        return
    requirements = [want for want in requirements if not off_linux(want.marker)]
    wheels, loads = session.rules.tables.wheels, session.facts.roads.loads
    needs = list(around(document.path, requirements, session.target, session.facts.lists, loads))
    held_back = list(obstacles(document.path, document.text, requirements, session.target.torch, wheels, loads))
    found = list(_hits(document, requirements))
    needs += (hit for hit in held_back if not _is_needless(hit, found))
    # what holds the lines of torch back (PRT840) holds no other line back
    needs += (replace(hit, edits=()) if held_back and hit.code == "PRT840" else hit for hit in found)
    yield from for_pages.set_aside(document, needs)


def _is_needless(hit: Hit, found: list[Hit]) -> bool:
    """What is to be dropped needs no other version first, nor has to be raised for its wheels what is raised further."""
    beside = {(other.code, other.why) for other in found if other.at == hit.at}
    if hit.why == "bound":
        return not beside.isdisjoint((("PRT401", "listed"), ("PRT401", "unimported")))
    alone = hit.why in ("last-python", "first-python") and ", " not in dict(hit.values)["name"]
    return alone and any(why == "since" for _, why in beside)


def _hits(document: Document, requirements: list[Wanted]) -> Iterator[Hit]:
    session = document.session
    rows, names = _rows(session.rules), {w.name for w in requirements if not w.builds}
    has_torch_npu = "torch-npu" in names
    served: set[str] = set()  # markers of the lines of torch that have torch-npu beside them
    parts: list[Wanted] = []
    pinned = any(want.name == "torch" and want.version for want in requirements)  # with what its build brings
    for want in requirements:
        if want.name in ("torch", "pytorch"):
            fits = fits_its_torch_npu(document.text, want, requirements)
            found = _torch(document, want, want.builds or has_torch_npu or _is_served(document, want, served))
            yield from (hit for hit in found if not fits or hit.why not in ("pin", "pin-older"))
            served |= {want.marker} if want.kind != "conda" and not want.builds else set()
        elif want.name in ("torchvision", "torchaudio"):
            yield from misfit(document.text, want, session.target.torch)
            if not (want.builds or has_torch_npu) and names.isdisjoint(("torch", "pytorch")):
                has_torch_npu = True
                yield from _beside(document, want, "through")
        elif old := first_versions.too_old(document, want, requirements):
            yield old
        elif entry := rows.get(want.name) or rows.get(_BUILD.sub("", want.name)):
            yield from _package(document, want, *entry, pinned, names)
        elif own := built_here(document, document.text[want.start : want.end], (want.start, want.end)):
            yield own
        elif _PARTS.fullmatch(want.name):
            parts.append(want)
    if parts:  # they come by the dozen
        more = f" (+{len(parts) - _NAMED})" if parts[_NAMED:] else ""
        shown = ", ".join(part.name for part in parts[:_NAMED]) + more
        values, frozen = named(name=shown), _frozen(document, requirements, parts)
        if frozen:
            values = named(name=shown, old=frozen, torch=".".join(map(str, session.target.torch)))
        yield Hit((parts[0].start, parts[0].end), "frozen" if frozen else "default", code="PRT842", values=values)


def _frozen(document: Document, requirements: list[Wanted], parts: list[Wanted]) -> str:
    """The torch whose parts are pinned beside it, as `pip freeze` writes them, if it is another than the target's."""
    torch = next((want for want in requirements if want.name == "torch" and want.version), None)
    if torch is None or torch.version is None or not all(part.version for part in parts[:_NAMED]):
        return ""
    written = document.text[slice(*torch.version)]
    return written if parts[_NAMED - 1 :] and release(written, _NUMBERS) != document.session.target.torch else ""


def _torch(document: Document, want: Wanted, has_torch_npu: bool) -> Iterator[Hit]:
    target = document.session.target
    plain, written = ".".join(map(str, target.torch)), document.text[slice(*want.version)] if want.version else ""
    older = first_versions.older_torch(document, want)
    values = named(old=want.spec, new=plain, npu=target.torch_npu, known=", ".join(_versions()), first=older)
    if want.version and release(written, _NUMBERS) != target.torch:
        # pytorch is the name of an empty package at PyPI
        edits = () if want.locked or want.kind == "conda" or want.name == "pytorch" else ((*want.version, plain),)
        yield Hit((want.start, want.end), "pin-older" if older else "pin", code="PRT840", values=values, edits=edits)
    elif want.version and "+cu" in written:
        edits = () if want.locked else ((want.version[0] + written.index("+"), want.version[1], ""),)
        local = named(old=written[written.index("+") :], npu=target.torch_npu)
        yield Hit((want.start, want.end), "local", code="PRT841", values=local, edits=edits)
    elif older and allows(want.spec, target.torch_npu):
        values = named(name=want.name, old=want.spec, first=older)
        yield Hit((want.start, want.end), "older", code="PRT840", values=values)
    elif want.spec and not want.version and not allows(want.spec, target.torch_npu):
        other = next((known for known in reversed(_versions()) if allows(want.spec, known)), "")
        why = "range-older" if older else "range-known" if other else "range"
        yield Hit((want.start, want.end), why, code="PRT840", values=(*values, *named(other=other)))
        has_torch_npu = has_torch_npu or want.kind != "conda"  # pip would never install the two together
    if not has_torch_npu:
        yield from _beside(document, want, "missing" if want.version else "loose")


def _is_served(document: Document, want: Wanted, served: set[str]) -> bool:
    """Whether the torch-npu beside another line is for the machines of this one, too."""
    if want.forced or document.path in document.session.facts.lists.installed:
        return bool(served)
    return not served.isdisjoint(("", want.marker))


def _beside(document: Document, want: Wanted, why: str) -> Iterator[Hit]:
    """torch_npu belongs beside torch, or beside what brings it."""
    target, facts, path = document.session.target, document.session.facts, document.path
    if facts.accelerators.also_npu(path) or path in facts.lists.plain:
        return
    if not want.version and target.style == "portable":
        return  # nothing imports torch_npu there, and other accelerators stay welcome
    if not want.version and (want.forced or path in facts.lists.installed):
        offset, head, tail = want.extra or (0, "", "")
        edits = ((offset, offset, f"{head}{target.torch_npu}{tail}"),) if want.extra else ()
        yield Hit((want.start, want.end), "extra", code="PRT840", values=named(npu=target.torch_npu), edits=edits)
    elif want.kind == "conda":
        yield Hit((want.start, want.end), "conda", code="PRT840", values=named(npu=target.torch_npu))
    elif want.kind == "script":  # nothing is written: the index of its command need not have torch-npu
        yield Hit((want.start, want.end), why, code="PRT840", values=named(name=want.name, npu=target.torch_npu))
    elif want.more is not None and not want.locked and ("\n" not in want.more[1] or "\n" in document.text):
        offset, head, tail = want.more
        edits = ((offset, offset, f"{head}{target.torch_npu}{tail}"),)
        values = named(name=want.name, npu=target.torch_npu)
        yield Hit((want.start, want.end), why, code="PRT840", values=values, edits=edits)


def _package(
    document: Document, want: Wanted, imported: str, row: Package, beside_torch: bool, names: Set[str]
) -> Iterator[Hit]:
    facts = document.session.facts
    if facts.own.has_package(imported.partition(".")[0], document.path):
        return
    users = facts.lists.users(imported, document.path)
    if nobodys(document, want.name, row):
        return
    more = {"users": users} if users else {}
    if row.known_as[1] and (why := without(document, imported, row, names)):
        values = named(name=want.name, module=row.known_as[1], new=", ".join(row.replacement))
        yield Hit((want.start, want.end), why, code=row.code, values=values, severity=row.severity)
    elif hit := listed(document, (want.start, want.end), want.name, imported, row, want.spec, want.optional):
        yield hit
    elif row.why and row.code in ("PRT401", "PRT843"):
        values = named(name=want.name, **more)
        yield Hit((want.start, want.end), row.why, code=row.code, values=values, severity=row.severity)
    elif row.replacement and row.status != "native":
        values = named(name=want.name, new=", ".join(row.replacement), **more)
        why, severity = "default", None
        if imported == "triton" and imported in facts.lists.unimported:
            why, severity = "came" if beside_torch and want.version is not None else "unimported", "wrong"
        yield Hit((want.start, want.end), why, code="PRT843", values=values, severity=severity)


@lru_cache(maxsize=4)
def _rows(rules: RuleSet) -> dict[str, tuple[str, Package]]:
    """By the name that is installed: what is imported, and its row."""
    rows: dict[str, tuple[str, Package]] = {}
    for imported, row in rules.tables.packages.items():
        for name in row.names:
            name = canonical(name)
            first = imported.partition(".")[0].replace("_", "-").lower()
            # numba is fine, and only its module numba.cuda is not. Fine, too, is a package of which one function needs its device
            plain = "." in imported and (name == first or row.device is not None)
            cpu = name.endswith("-cpu") or f"{name}-gpu" in row.names
            if not plain and not cpu:
                plainly = _BUILD.sub("", name)
                own = plainly == imported.replace("_", "-").lower()  # of several that a row names, the one of this name
                rows.update({n: (imported, row) for n in (name, plainly) if own or n not in rows})
    return rows


@lru_cache(maxsize=1)
def _versions() -> tuple[str, ...]:
    from porter.catalog.read.load import versions

    return tuple(dict.fromkeys(map(base, versions())))
