"""Marks findings about code that nothing in the project uses, so that they are set aside: they cost no run anything.

A top-level function or class is used if its name stands in another file of the project, of whatever kind, in a part of it that is
used; in a statement of its own file that runs on import; or in a function or class that is used. A file that only imports it for
others, or that has the name from elsewhere, does not use it. A decorated function is used, as a registry may have it. In a project
that looks names up at run time, everything may be used; in one that others install, all that is not private. A package that is
installed only for programs of its own project does not count as one that others install.

Also marked are findings about methods that nothing names, branches that are never taken, that no caller takes or no setting leads
to, files that nothing runs or that cannot be imported, and copies of a library that its users leave; advice about code for Apple's
MLX, `__main__` parts of modules that others import, workers of loaders with nothing to do, and code that uncalled.py finds.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import NamedTuple

from porter.engine.together import ALSO, every_line, is_only_told
from porter.files.kinds import PYTHON, kind_of
from porter.files.paths import is_test
from porter.finding import FileResult, Finding
from porter.project import flash_only, light_loaders
from porter.project.apple_code import AppleCode
from porter.project.built_once import CODES, BuiltOnce
from porter.project.bundled_libraries import BundledLibraries
from porter.project.chosen_by_callers import chooser
from porter.project.dead_lines import DeadLines
from porter.project.gone_packages import GonePackages
from porter.project.guarded_imports import guarded
from porter.project.idle_extensions import IdleExtensions, of_idle_callers
from porter.project.left_copies import LeftCopies
from porter.project.never_run import Methods, branches
from porter.project.off_options import OffOptions
from porter.project.other_classes import OtherClasses
from porter.project.set_aside import RESTS, SPEAKS
from porter.project.uncalled import ADVICE, Uncalled
from porter.project.unloaded import Unloaded
from porter.project.untaken import Untaken
from porter.project.unused import Uses
from porter.project.unused_parts import INSIDE, UnusedParts, owner
from porter.python.kept import Rows
from porter.python.walks import statements
from porter.regex import lazy, rare
from porter.rulebook.table import any_of

_ADVICE = ("PRT3", "PRT6")  # families about precision and about speed
_OF_CODE = tuple(f"PRT{family}" for family in "12345679")  # families about code that runs
# a project without one of these has no loader with workers
_LOADING = rare(
    rb"(?i)(?:data_?|\b)loader\w*[\"']?[ \t]*[(.=:,\])]|import[^\n]*(?<!file)loader|data_?module|trainer\b|num_workers"
)  # and none of a sentence: "mapping dataloader"
_IN_WORKERS = "PRT636"  # the code of what the workers of a loader cannot do
_NO_DEVICE = "PRT204"  # the code of processes that choose no device
_DROP_PATH = "PRT617"  # the code of DropPath, which does nothing if its rate is 0
_COMPARISON = "PRT122"  # of a device with a name: it matters where its branch is taken
_SPARSE_ADAM = ("PRT706", "optimizer")  # it takes no gradient but those of layers with `sparse=True`
_SPARSE = lazy(
    rb"sparse(?:(?<=--sparse)|(?<![\w.]sparse)[\"']?[ \t]*(?::[ \t]*bool[ \t]*)?[=:](?!=|[ \t]*(?:False|false|None|bool)\b))"
)
# a default, a setting or an argument with a drop rate above 0; 1e-1 is one, the 1e-6 of an epsilon is none
_DROPS = lazy(
    rb"(?i)(?:drop[-_]?path|path[-_]?drop|stochastic_?depth|stoch_?depth|droppath)[^\n]{0,80}?(?<![\w.])"
    rb"(?:0?\.0*[1-9]|[1-9][\d.]*e-0?[12]\b)"
)
_NO_GRAPH = ("PRT707", "volatile-where")  # where its parameter is true
_PINNING = ("PRT633", "pinning")  # it gains where batches are copied without waiting
_OVERLAPS = lazy(  # the packages copy so by themselves
    rf"{any_of('copies-without-waiting')}|\b(?:accelerate|fastai|mmcv|mmengine|timm)\b".encode()
)


class _Finders(NamedTuple):
    """What finds code that the project itself never runs. Each searches a thing once."""

    options: OffOptions
    untaken: Untaken
    parts: UnusedParts
    classes: OtherClasses
    built: BuiltOnce
    uncalled: Uncalled


def rested(results: Iterable[FileResult], uses: Uses) -> list[FileResult]:
    """The results, in which findings about unused code are notes that name what is unused."""
    files = list(results)
    gone = GonePackages(files)
    files = [_as_notes(result, gone.of(result)) for result in files]
    left = LeftCopies(files, uses)
    files = [_as_notes(result, left.of(result)) for result in files]
    bundled, idle = BundledLibraries(files, uses), IdleExtensions(files, uses)
    files = [
        _as_notes(result, bundled.of(result) | idle.of(result) | light_loaders.of(result, uses)) for result in files
    ]
    rows = [(result, [f for f in result.findings if _matters_where_it_runs(f)]) for result in files]
    rows = [(result, told if kind_of(result.path) == PYTHON else []) for result, told in rows]
    uses.will_ask(result.path for result, told in rows if told)
    options, untaken = OffOptions(uses.saying), Untaken(uses.saying, uses.is_installed, uses.may_be_any)
    finders = _Finders(
        options,
        untaken,
        UnusedParts(uses, DeadLines(uses, options, untaken)),
        OtherClasses(uses.saying),
        BuiltOnce(uses.saying, uses.tree),
        Uncalled(uses.saying, uses.around),
    )
    return [
        _rested(result, told, uses, finders) if told else _as_notes(result, of_idle_callers(result, uses))
        for result, told in rows
    ]


def _rested(result: FileResult, told: list[Finding], uses: Uses, finders: _Finders) -> FileResult:
    """The same for one file. `told`: its findings that matter only if their place runs."""
    if uses.is_idle(result.path):
        return _as_notes(result, dict.fromkeys(told, ("unused", result.path)))
    apple = AppleCode(uses.text(result.path))
    result = _as_notes(result, {f: ("apple", "mlx") for f in told if all(map(apple.has, every_line(f)))})
    result = _as_notes(result, _shown_alone(result, uses))
    result = _as_notes(result, _by_nobody_loaded(result, told, uses))
    result = _as_notes(result, _chosen_by_callers(result, told, uses))
    result = _as_notes(result, {f: ("unused", by) for f in result.findings if (by := _server(f)) and uses.is_idle(by)})
    return _rested_parts(_never_run(result, uses, finders), uses, finders.parts)


def _never_run(result: FileResult, uses: Uses, finders: _Finders) -> FileResult:
    """The result with notes for methods that nothing names, and for branches that are never taken, or by no caller, or with no
    setting of the project."""
    path, matters = result.path, [f for f in result.findings if _matters_where_it_runs(f)]
    told = {f: _places(f, uses.text(path)) for f in matters}
    parsed, rows = uses.rows(path, "never", lambda: _branches(uses.tree(path))) if told else (False, ())
    if not parsed:
        return result
    never = {(first, last): condition for first, last, condition in rows}
    is_open = uses.is_installed(path)  # then others may use all that is not private
    whole, text = None if is_test(path) else uses.tree(path), uses.text(path)
    tree = None if whole is None or uses.may_be_any(path) else whole  # what only holds for parts that have to be named
    if tree and (compared := [f for f in told if f.code == _COMPARISON]):
        behind = _behind(tree)
        told |= {f: [behind.get(line, line) for line in told[f]] for f in compared}

    def constant(line: int) -> str:
        return next((condition for (first, last), condition in never.items() if first <= line <= last), "")

    @cache
    def off(line: int) -> str:
        return finders.options.at(whole, path, line) if whole and not is_open else ""

    @cache
    def untaken(line: int) -> str:
        return finders.untaken.at(tree, text, path, line, is_open) if tree else ""

    is_of_others, of_library = finders.classes.have, finders.classes.may_be_called_by_library

    @cache
    def says(owner: str, name: str) -> bool:
        return uses.says(name, path, partial(is_of_others, owner))

    def methods(*skipped: Callable[[int], str]) -> Callable[[int], str]:
        if tree is None:
            return lambda line: ""

        def is_skipped(line: int) -> bool:
            return any(skip(line) for skip in skipped)

        return Methods(tree, text, uses.is_own, says, is_of_others, is_skipped, is_open, of_library).idle

    ways: list[tuple[str, Callable[[int], str]]] = [
        ("never", constant), ("unused", methods()), ("off", off), ("off", methods(off)), ("never", untaken),
        ("unused", methods(constant, off, untaken)),
    ]  # fmt: skip

    def why(line: int) -> tuple[str, str]:
        return next(((key, name) for key, ask in ways if (name := ask(line))), ("unused", ""))

    reasons = {f: [*map(why, places)] for f, places in told.items()}
    waiting = [f for f, several in reasons.items() if f.code in CODES and not all(name for _, name in several)]
    reasons |= {f: [("built", finders.built.at(f.code, path, line)) for line in told[f]] for f in waiting}
    if of_paths := [f for f in told if f.code == _DROP_PATH and not uses.somewhere(_DROPS)]:
        reasons |= {f: [("never", "drop_path > 0")] for f in of_paths}
    if of_sparse := [f for f in told if (f.code, f.why) == _SPARSE_ADAM and not uses.somewhere(_SPARSE)]:
        reasons |= {f: [("never", "sparse=True")] for f in of_sparse}
    for f in (f for f in told if (f.code, f.why) == _NO_GRAPH):
        if not all(name for _, name in reasons[f]):
            asked = partial(finders.untaken.off, tree, text, path, keyword="volatile", is_open=is_open)
            reasons[f] = [("never", asked(line)) for line in told[f]]
    for f in (f for f in told if f.code in flash_only.CODES and not all(name for _, name in reasons[f])):
        reasons[f] = [("never", flash_only.at(tree, text, line)) for line in told[f]]
    for f in (f for f in told if f.code.startswith(ADVICE) and not all(name for _, name in reasons[f])):
        reasons[f] = [("unused", finders.uncalled.at(uses.tree(path), path, line, is_open)) for line in told[f]]
    if of_pins := [f for f in told if (f.code, f.why) == _PINNING and not uses.somewhere(_OVERLAPS)]:
        reasons |= {f: [("off", "non_blocking=True")] for f in of_pins}
    return _as_notes(result, {f: several[0] for f, several in reasons.items() if all(name for _, name in several)})


def _behind(tree: ast.Module) -> dict[int, int]:
    """The lines of conditions, each with the first line of the branch behind it."""
    found: dict[int, int] = {}
    for node in statements(tree):
        if isinstance(node, ast.If):
            for line in range(node.test.lineno, (node.test.end_lineno or node.test.lineno) + 1):
                found.setdefault(line, node.body[0].lineno)
    return found


def _branches(tree: ast.Module | None) -> Rows:
    """Whether a file is one of Python, and its branches that are never taken."""
    return tree is not None, tuple((*span, condition) for span, condition in (branches(tree) if tree else {}).items())


def _shown_alone(result: FileResult, uses: Uses) -> dict[Finding, tuple[str, str]]:
    """Advice about the `__main__` part of a module that other files import."""
    advice = [f for f in result.findings if f.code.startswith(_ADVICE) and _matters_where_it_runs(f)]
    lines = uses.text(result.path).split(b"\n") if advice else []
    inside = [f for f in advice if all(_is_main(lines, number) for number in every_line(f))]
    return dict.fromkeys(inside, ("demo", result.path)) if inside and uses.is_taken(result.path) else {}


def _by_nobody_loaded(result: FileResult, told: Iterable[Finding], uses: Uses) -> dict[Finding, tuple[str, str]]:
    """What workers of a loader cannot do, in data sets that no loader gets."""
    of_workers = [f for f in told if f.code == _IN_WORKERS]
    if not of_workers:
        return {}
    is_loading = uses.is_installed(result.path) or uses.somewhere(_LOADING)
    sets = Unloaded(uses.tree(result.path), partial(uses.saying, home=result.path), is_loading)
    names = {f: {sets.at(line) for line in every_line(f)} for f in of_workers}
    return {f: ("unloaded", min(several)) for f, several in names.items() if all(several)}


def _chosen_by_callers(result: FileResult, told: Iterable[Finding], uses: Uses) -> dict[Finding, tuple[str, str]]:
    """That no device is chosen, of functions whose callers choose it."""
    saying = partial(uses.saying, home=result.path)
    found = {
        f: {chooser(uses.tree(result.path), line, result.path, saying) for line in every_line(f)}
        for f in told
        if f.code == _NO_DEVICE
    }
    return {f: ("chosen", min(several)) for f, several in found.items() if all(several)}


def _is_main(lines: Sequence[bytes], number: int) -> bool:
    margin = (line for line in reversed(lines[:number]) if not INSIDE.match(line))
    return next(margin, b"").startswith(b"if __name__")


def _server(finding: Finding) -> str:
    """The file whose step calls the place of a finding, if the finding names one."""
    by = dict(finding.values).get("served_by", "")
    return by if by.endswith(".py") and _matters_where_it_runs(finding) else ""


def _as_notes(result: FileResult, why: Mapping[Finding, tuple[str, str]]) -> FileResult:
    """The result in which these findings are notes, with the reason among their values."""
    if not why:
        return result
    findings = (replace(f, severity="note", values=(*f.values, why[f])) if f in why else f for f in result.findings)
    return replace(result, findings=tuple(findings))


def _rested_parts(result: FileResult, uses: Uses, parts: UnusedParts) -> FileResult:
    """The result with notes for top-level functions and classes that nothing uses."""
    text = uses.text(result.path) if result.findings else b""
    advice = {f: _places(f, text) for f in result.findings if _matters_where_it_runs(f)}
    if not advice or is_test(result.path):  # tests are found by their names
        return result
    lines = text.split(b"\n")
    imports = {f: known for f, numbers in advice.items() if (known := guarded(uses, result.path, lines, numbers))}
    advice |= {f: known.lines for f, known in imports.items()}
    owners = {f: {owner(lines, number) for number in numbers} for f, numbers in advice.items()}
    unused = parts.among({name for several in owners.values() for name in several if name}, result.path)
    resting = {f: ("unused", min(map(str, own))) for f, own in owners.items() if own and unused.issuperset(own)}
    resting |= {f: ("unused", known.name) for f, known in imports.items() if not known.lines}
    return _as_notes(result, resting)


def _places(finding: Finding, text: bytes) -> list[int]:
    """The lines that a finding is about."""
    return _of_name(finding, text) or every_line(finding)


def _of_name(finding: Finding, text: bytes) -> list[int]:
    """The lines with calls of an API, if its finding counts several."""
    known = dict(finding.values)
    if not finding.code.startswith("PRT7") or known.get("count", "1") == "1" or ALSO in known:
        return []
    word = known.get("name", "").rpartition(".")[2].encode()
    called = re.compile(rb"\b%s[ \t]*\(" % re.escape(word))
    return [number for number, line in enumerate(text.split(b"\n"), 1) if word in line and called.search(line)]


def _matters_where_it_runs(finding: Finding) -> bool:
    """Whether a finding matters only if its own place runs."""
    if not finding.code.startswith(_OF_CODE):
        return False
    known = dict(finding.values)
    return is_only_told(finding) and SPEAKS.isdisjoint(known) and RESTS.isdisjoint(known)
