"""Makes one finding of findings with several codes, if one rewrite answers them all.

To replace a CUDA kernel means to replace the code that loads it, calls it, or asks whether it may be called. So the finding of
the kernel gets these places, those of the C++ beside it that starts it, and those of tests that end in it. To replace a package of
attention means to rewrite its calls. The finding of the package in that file names them, so findings about the calls go to the
inventory. So does the note of a package whose provider another finding of the file is about. To replace a package for GPUs in
the files that import it means to drop it from the lists of packages, so the finding of such a file gets the lines of these lists.
Where a file reads from a profile what the NPU's profiler lacks, the recording is written anew: the finding of the reading gets
the places of the recording. Findings that are edited or suppressed stay.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import takewhile

from porter.engine.together import ALSO, FILES, PLACES, elsewhere, further_lines, lines_of, may_fold
from porter.files.paths import folder_of
from porter.finding import SEVERITIES, FileResult, Finding
from porter.project.set_aside import RESTS
from porter.regex import lazy

# codes of findings about a CUDA kernel; about a package of attention
_KERNEL, _CALL, _GUARD, _LOAD = "PRT850", "PRT411", "PRT132", "PRT402"
_PACKAGE, _ATTENTION = "PRT401", "PRT409"
_TESTED = "tested"  # what is said of a test that asks for a GPU, and is ported with what it ends in
# what is said of sources that only start kernels, or declare what starts them
_OF_HOST = frozenset({"launches", "vectors", "host", "included", "handed_on"})
_OF_KERNELS = lazy(r"(?:_cuda)?(?:_kernels?)?\.cu$")  # how the path of a source of kernels ends
_CALLERS = lazy(r"([^\s,;:]+\.py)(?=[:;,\s]|$)")  # the paths in "a/b.py: f, g; c.py"
# what records, what is imported to record, and what reads the recording; and what is said of the three
_RECORDING, _RECORDER, _READING = ("PRT505", "results"), ("PRT506", "results"), ("PRT507", "result")
_RUNTIME, _PROVIDER = "onnxruntime", "for-a-provider"  # a package, and what is said of the choice of its provider
_MORE = lazy(r" \(\+\d+\)$")  # how many files are not shown
# what is said of a line that asks for a package, where the files that import it are told what to write
_LISTED = frozenset({"listed", "extra"})
_FLASH = ("flash_attn", "flash_attn_interface")
# the packages that a call may be of, by its message; calls that read a cache are told by themselves
_PACKAGES = {"xformers": ("xformers",), "dense": _FLASH, "packed": _FLASH}


def told_by_cause(results: Iterable[FileResult], linked: Mapping[str, tuple[str, ...]]) -> list[FileResult]:
    """The results with one finding for each such rewrite. `linked`: by source, those of the kernels that are built with it."""
    files = list(results)
    found = [f for result in files for f in result.findings if may_fold(f) and RESTS.isdisjoint(dict(f.values))]
    owners, named = {**_kernels_of(found, linked), **_readings_of(found), **_lists_of(found)}, {*_packages_of(found)}
    if not owners and not named:
        return files
    more: dict[Finding, list[Finding]] = {}
    for f, owner in owners.items():
        more.setdefault(owner, []).append(f)

    def told(result: FileResult) -> FileResult:
        kept = [f for f in result.findings if f not in owners and f not in named]
        kept = [_with_places(f, more[f]) if f in more else f for f in kept]
        aside = [f for f in result.findings if f in named]
        return replace(result, findings=tuple(sorted(kept)), inventory=(*result.inventory, *aside))

    return list(map(told, files))


def callers_of(finding: Finding) -> list[str]:
    """The files with Python that ends in the kernels of a finding."""
    values = dict(finding.values)
    return _CALLERS.findall(values.get("callers") or values.get("spared_callers", ""))


def _kernels_of(found: Iterable[Finding], linked: Mapping[str, tuple[str, ...]]) -> dict[Finding, Finding]:
    """The findings that the replacement of a kernel answers, each with the finding of the kernel."""
    kernels = {f.path: f for f in found if f.code == _KERNEL}
    if not kernels:
        return {}
    callers: dict[str, Finding] = {}
    for f in kernels.values():
        for path in callers_of(f):
            callers.setdefault(path, f)
    beside = {
        _OF_KERNELS.sub("", f.path): f for f in kernels.values() if f.path.endswith(".cu") and f.why not in _OF_HOST
    }
    called = {dict(f.values).get("name", ""): dict(f.values).get("path", "") for f in found if f.code == _CALL}
    owners: dict[Finding, Finding] = {}
    for f in found:
        owner: Finding | None
        if f.code == _KERNEL and f.why in _OF_HOST:  # `blur.cpp` and `blur.h` beside `blur_cuda.cu`
            owner = beside.get(f.path.rpartition(".")[0].removesuffix("_cuda")) or _nearest(f, kernels, linked)
        elif f.code == _CALL:
            owner = kernels.get(dict(f.values).get("path", ""))
        elif f.why == _TESTED:
            owner = kernels.get(called.get(dict(f.values).get("what", ""), ""))
        elif f.code == _LOAD or f.code == _GUARD and f.why == "kernel":
            owner = callers.get(f.path)
        else:
            owner = None
        if owner is not None and _speaks_for(owner, f):
            owners[f] = owner
    return owners


def _nearest(finding: Finding, kernels: Mapping[str, Finding], linked: Mapping[str, tuple[str, ...]]) -> Finding | None:
    """Of the kernels that are built with a source, the finding of the one with the most letters in common with its path."""
    built = [path for path in linked.get(finding.path, ()) if path in kernels and kernels[path].why not in _OF_HOST]
    return kernels[max(built, key=lambda path: _common(path, finding.path))] if built else None


def _common(path: str, other: str) -> int:
    """With how many equal letters two paths begin."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(path, other)))


def _readings_of(found: Iterable[Finding]) -> dict[Finding, Finding]:
    """The findings about a recording, each with that of its reading in the same file; without one, with that of the recording."""
    parts = {kind: [f for f in found if (f.code, f.why) == kind] for kind in (_RECORDER, _RECORDING, _READING)}
    owners: dict[str, Finding] = {}
    for kind in (_RECORDING, _READING):
        owners.update({f.path: f for f in reversed(parts[kind])})
    pairs = ((f, owners.get(f.path)) for kind in (_RECORDER, _RECORDING) for f in parts[kind])
    return {f: owner for f, owner in pairs if owner is not None and owner is not f and _speaks_for(owner, f)}


def _lists_of(found: Iterable[Finding]) -> dict[Finding, Finding]:
    """The lines that ask for a package, each with the finding of a file that imports it and that the line names."""
    lines = [f for f in found if f.code == _PACKAGE and f.why in _LISTED]
    named = {dict(f.values)["package"] for f in lines}
    told = [f for f in found if f.code == _PACKAGE and dict(f.values).get("name") in named and f not in lines]
    imports = {(f.path, dict(f.values)["name"]): f for f in reversed(told)}
    owners: dict[Finding, Finding] = {}
    for f in lines:
        values = dict(f.values)
        shown = _MORE.sub("", values["importers"])
        importing = [imports.get((path, values["package"])) for path in shown.split(", ")]
        if shown != values["importers"]:  # it names the first of them
            folder = folder_of(f.path)
            importing += [
                o for (path, name), o in imports.items() if name == values["package"] and path.startswith(folder)
            ]
        if owner := next((owner for owner in importing if owner is not None and _speaks_for(owner, f)), None):
            owners[f] = owner
    return owners


def _packages_of(found: Iterable[Finding]) -> dict[Finding, Finding]:
    """The findings about calls of a package of attention, each with the finding of the package in the same file; and the notes
    of onnxruntime, each with the finding about the choice of its provider."""
    packages = {(f.path, dict(f.values).get("name", "")): f for f in found if f.code == _PACKAGE}
    calls = (f for f in found if f.code == _ATTENTION)
    pairs = ((f, packages.get((f.path, name))) for f in calls for name in _PACKAGES.get(f.why, ()))
    owned = {f: owner for f, owner in pairs if owner is not None and _speaks_for(owner, f)}
    providers = (f for f in found if f.why == _PROVIDER)
    runtimes = ((packages.get((f.path, _RUNTIME)), f) for f in providers)
    return owned | {f: owner for f, owner in runtimes if f is not None and f.severity == "note"}


def _speaks_for(owner: Finding, finding: Finding) -> bool:
    """Whether the finding of the cause is at least as severe. A finding that is worse than its cause stays."""
    return SEVERITIES.index(owner.severity) <= SEVERITIES.index(finding.severity)


def _with_places(owner: Finding, findings: Iterable[Finding]) -> Finding:
    """The finding of the cause, with the places of the others."""
    values = dict(owner.values)
    lines = [*map(str, further_lines(values)), *(str(n) for f in findings if f.path == owner.path for n in lines_of(f))]
    places = [
        *(f"{path}:{line}" for path, line in elsewhere(values)),
        *(f"{f.path}:{n}" for f in findings if f.path != owner.path for n in lines_of(f)),
    ]
    own = str(owner.line)
    if lines := [line for line in dict.fromkeys(lines) if line != own]:
        values[ALSO] = ", ".join(sorted(lines, key=int))
    if shown := [f.path for f in findings if f.code == _KERNEL or f.why in _LISTED]:
        values[FILES] = ", ".join(dict.fromkeys(shown))
    if places:
        values[PLACES] = ", ".join(dict.fromkeys(places))
    return replace(owner, values=tuple(values.items()))
