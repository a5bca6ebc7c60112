"""Marks findings about code that nothing in the project uses, so that they are set aside: they cost no run anything.

A top-level function or class is used if its name stands in another file of the project, of whatever kind; in a statement of its
own file that runs on import; or in a function or class that is used. A file that only imports it for others, or that has the
name from elsewhere, does not use it. A decorated function is used, as a registry may have it. In a project that looks names
up at run time, or that others install, everything may be used. A package that is installed only for programs of its own project
does not count as one that others install.

Also marked are all findings about a file that nothing runs or that cannot be imported, advice about code for Apple's MLX,
advice about the `__main__` part of a module that other files import, and what is said of the workers of loaders in data sets
that no loader gets.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from porter.engine.together import is_only_told, lines_of
from porter.files.kinds import PYTHON, kind_of
from porter.files.paths import is_test
from porter.finding import FileResult, Finding
from porter.project.apple_code import AppleCode
from porter.project.chosen_by_callers import chooser
from porter.project.gone_packages import GonePackages
from porter.project.never_run import Methods, branches
from porter.project.off_options import OffOptions
from porter.project.set_aside import RESTS
from porter.project.told_by_cause import CALLERS
from porter.project.unloaded import Unloaded
from porter.project.unused import Uses
from porter.python.graphs import reached
from porter.python.kept import Rows
from porter.python.walks import walk
from porter.regex import lazy

_ADVICE = ("PRT3", "PRT6")  # families about precision and about speed
_OF_CODE = tuple(f"PRT{family}" for family in "12345679")  # families about code that runs
_SPEAKS = frozenset({"bystanders", "other_files"})  # keys of `Finding.values`: the finding speaks for other files
_LOADERS = {"PRT633": b"DataLoader("}  # one place of a file speaks for all with this text
_IN_WORKERS = "PRT636"  # the code of what the workers of a loader cannot do
_NO_DEVICE = "PRT204"  # the code of processes that choose no device
# DropPath does nothing if its rate is 0; a default, a setting or an argument with a rate above 0
_DROP_PATH = "PRT617"
_SPARSE_ADAM = ("PRT706", "optimizer")  # it takes no gradient but those of layers with `sparse=True`
_SPARSE = lazy(
    rb"sparse(?:(?<=--sparse)|(?<![\w.]sparse)[\"']?[ \t]*(?::[ \t]*bool[ \t]*)?[=:](?!=|[ \t]*(?:False|false|None|bool)\b))"
)
# a drop rate above 0
_DROPS = lazy(
    rb"(?i)(?:drop[-_]?path|path[-_]?drop|stochastic_?depth|stoch_?depth|droppath)[^\n]{0,80}?(?<![\w.])0?\.0*[1-9]"
)
_WORD = lazy(r"[A-Za-z_]\w*")
# a line that begins a top-level definition
_HEAD = lazy(rb"(?:async[ \t]+)?(?:def|class)[ \t]+([A-Za-z_]\w*)")
_INSIDE = lazy(rb"\s|$|#|[)\]}]")  # a line that begins no top-level statement
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def rested(results: Iterable[FileResult], uses: Uses, once: Callable[[str, str], bool]) -> list[FileResult]:
    """The results, in which findings about unused code are notes that name what is unused. `once`: whether one place of a file
    speaks for all places with this code and message."""
    files = list(results)
    gone = GonePackages(files)
    files = [_as_notes(result, gone.of(result)) for result in files]
    rows = [(result, [f for f in result.findings if _matters_where_it_runs(f)]) for result in files]
    rows = [(result, told if kind_of(result.path) == PYTHON else []) for result, told in rows]
    uses.will_ask(result.path for result, told in rows if told)
    off = OffOptions(uses.saying)
    return [
        _rested(result, told, uses, off, once) if told else _as_notes(result, _of_idle_callers(result, uses))
        for result, told in rows
    ]


def _rested(
    result: FileResult, told: list[Finding], uses: Uses, off: OffOptions, once: Callable[[str, str], bool]
) -> FileResult:
    """The same for one file. `told`: its findings that matter only if their place runs."""
    if uses.is_idle(result.path):
        return _as_notes(result, dict.fromkeys(told, ("unused", result.path)))
    apple = AppleCode(uses.text(result.path))
    result = _as_notes(result, {f: ("apple", "mlx") for f in told if all(map(apple.has, lines_of(f)))})
    result = _as_notes(result, _shown_alone(result, uses))
    result = _as_notes(result, _by_nobody_loaded(result, told, uses))
    result = _as_notes(result, _chosen_by_callers(result, told, uses))
    result = _as_notes(result, {f: ("unused", by) for f in result.findings if (by := _server(f)) and uses.is_idle(by)})
    return _rested_parts(_never_run(result, uses, off, once), uses, once)


def _never_run(result: FileResult, uses: Uses, options: OffOptions, once: Callable[[str, str], bool]) -> FileResult:
    """The result with notes for methods that nothing names, and for branches that are never taken, or with no setting of the
    project."""
    told = [f for f in result.findings if _matters_where_it_runs(f) and not once(f.code, f.why)]
    path = result.path
    parsed, rows = uses.rows(path, "never", lambda: _branches(uses.tree(path))) if told else (False, ())
    if not parsed:
        return result
    never = {(first, last): condition for first, last, condition in rows}
    is_closed = not is_test(path) and not uses.is_installed(path) and not uses.may_be_any(path)
    tree = uses.tree(path) if is_closed else None
    methods = _methods(tree, path, uses, options) if tree else None

    def why(line: int) -> tuple[str, str]:
        if span := next((span for span in never if span[0] <= line <= span[1]), None):
            return ("never", never[span])
        if tree is None or methods is None:
            return ("unused", "")
        by_name, by_option = methods
        if idle := by_name.idle(line):
            return ("unused", idle)
        return ("off", options.at(tree, path, line) or by_option.idle(line))

    reasons = {f: [*map(why, lines_of(f))] for f in told}
    if of_paths := [f for f in told if f.code == _DROP_PATH and not uses.somewhere(_DROPS)]:
        reasons |= {f: [("never", "drop_path > 0")] for f in of_paths}
    if of_sparse := [f for f in told if (f.code, f.why) == _SPARSE_ADAM and not uses.somewhere(_SPARSE)]:
        reasons |= {f: [("never", "sparse=True")] for f in of_sparse}
    return _as_notes(result, {f: several[0] for f, several in reasons.items() if all(name for _, name in several)})


def _methods(tree: ast.Module, path: str, uses: Uses, options: OffOptions) -> tuple[Methods, Methods]:
    """The methods of a file that nothing names, and those that no setting of the project leads to either."""
    text, is_own = uses.text(path), uses.is_own
    says = partial(uses.says, home=path)
    return Methods(tree, text, is_own, says), Methods(
        tree, text, is_own, says, lambda line: bool(options.at(tree, path, line))
    )


def _branches(tree: ast.Module | None) -> Rows:
    """Whether a file is one of Python, and its branches that are never taken."""
    return tree is not None, tuple((*span, condition) for span, condition in (branches(tree) if tree else {}).items())


def _shown_alone(result: FileResult, uses: Uses) -> dict[Finding, tuple[str, str]]:
    """Advice about the `__main__` part of a module that other files import."""
    advice = [f for f in result.findings if f.code.startswith(_ADVICE) and _matters_where_it_runs(f)]
    lines = uses.text(result.path).split(b"\n") if advice else []
    inside = [f for f in advice if all(_is_main(lines, number) for number in lines_of(f))]
    return dict.fromkeys(inside, ("demo", result.path)) if inside and uses.is_taken(result.path) else {}


def _by_nobody_loaded(result: FileResult, told: Iterable[Finding], uses: Uses) -> dict[Finding, tuple[str, str]]:
    """What workers of a loader cannot do, in data sets that no loader gets."""
    of_workers = [f for f in told if f.code == _IN_WORKERS]
    sets = Unloaded(uses.tree(result.path), partial(uses.saying, home=result.path)) if of_workers else None
    names = {f: {sets.at(line) for line in lines_of(f)} for f in of_workers} if sets else {}
    return {f: ("unloaded", min(several)) for f, several in names.items() if all(several)}


def _chosen_by_callers(result: FileResult, told: Iterable[Finding], uses: Uses) -> dict[Finding, tuple[str, str]]:
    """That no device is chosen, of functions whose callers choose it."""
    saying = partial(uses.saying, home=result.path)
    found = {
        f: {chooser(uses.tree(result.path), line, result.path, saying) for line in lines_of(f)}
        for f in told
        if f.code == _NO_DEVICE
    }
    return {f: ("chosen", min(several)) for f, several in found.items() if all(several)}


def _of_idle_callers(result: FileResult, uses: Uses) -> dict[Finding, tuple[str, str]]:
    """What is said of native code that only files call which nothing runs."""
    native = {f: CALLERS.findall(dict(f.values).get("callers", "")) for f in result.findings if is_only_told(f)}
    return {f: ("unused", callers[0]) for f, callers in native.items() if callers and all(map(uses.is_idle, callers))}


def _is_main(lines: Sequence[bytes], number: int) -> bool:
    margin = (line for line in reversed(lines[:number]) if not _INSIDE.match(line))
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


def _rested_parts(result: FileResult, uses: Uses, once: Callable[[str, str], bool]) -> FileResult:
    """The result with notes for top-level functions and classes that nothing uses."""
    text = uses.text(result.path) if result.findings else b""
    advice = {f: _places(f, text, once) for f in result.findings if _matters_where_it_runs(f)}
    advice = {f: numbers for f, numbers in advice.items() if numbers}
    if not advice or is_test(result.path) or uses.is_installed(result.path):  # tests are found by their names
        return result
    lines = text.split(b"\n")
    owners = {f: {_owner(lines, number) for number in numbers} for f, numbers in advice.items()}
    names = {name for several in owners.values() for name in several if name}
    unused = _unused({name for name in names if not uses.elsewhere(name, result.path)}, result.path, uses)
    resting = {f: ("unused", min(map(str, own))) for f, own in owners.items() if unused.issuperset(own)}
    return _as_notes(result, resting if unused else {})


def _places(finding: Finding, text: bytes, once: Callable[[str, str], bool]) -> list[int]:
    """The lines that a finding is about; none where nobody knows for which others it speaks."""
    if not once(finding.code, finding.why):
        return [*lines_of(finding)]
    word = _LOADERS.get(finding.code)
    return [number for number, line in enumerate(text.split(b"\n"), 1) if word in line] if word else []


def _unused(names: set[str], path: str, uses: Uses) -> set[str]:
    """Those of these top-level functions and classes that nothing uses. No other file mentions one of `names`."""
    tree = uses.tree(path) if names else None
    if tree is None:
        return set()
    own = {name: node for node in tree.body if (name := _defined(node))}
    inside = {name: _words(node) & own.keys() - {name} for name, node in own.items()}
    defining = {*own.values()}
    running = [node for node in tree.body if node not in defining or getattr(node, "decorator_list", None)]
    running = [node for node in running if not _is_list_of_names(node)]
    used = reached(set().union(*map(_words, running)) & own.keys(), lambda name: inside[name])
    used |= {node.name for node in running if isinstance(node, _DEFINITIONS)}
    if not used and not uses.is_taken(path):
        return set()
    users = {name: {user for user, words in inside.items() if name in words} for name in own}
    unused = set()
    for name in sorted(names & own.keys() - used):
        line = reached([name], lambda name: users[name])
        if line.isdisjoint(used) and not any(uses.elsewhere(user, path) for user in sorted(line - {name})):
            unused.add(name)
    return set() if unused and uses.may_be_any(path) else unused


def _defined(node: ast.stmt) -> str:
    """The name that a statement defines: a function, a class, or an alias such as `attend = Attend.apply`."""
    if isinstance(node, _DEFINITIONS):
        return node.name
    if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
        if isinstance(node.value, ast.Attribute) and isinstance(node.value.value, ast.Name):
            return node.targets[0].id
    return ""


def _matters_where_it_runs(finding: Finding) -> bool:
    """Whether a finding matters only if its own place runs."""
    if not finding.code.startswith(_OF_CODE):
        return False
    known = dict(finding.values)
    return is_only_told(finding) and _SPEAKS.isdisjoint(known) and RESTS.isdisjoint(known)


def _owner(lines: Sequence[bytes], number: int) -> str | None:
    """The top-level function or class in which a line stands."""
    margin = (line for line in reversed(lines[:number]) if not _INSIDE.match(line))
    match = _HEAD.match(next(margin, b""))
    return match[1].decode() if match else None


def _is_list_of_names(node: ast.stmt) -> bool:
    """Whether a statement is `__all__ = [...]`. It uses nothing; a file that imports the names does."""
    return isinstance(node, ast.Assign) and any(getattr(target, "id", "") == "__all__" for target in node.targets)


def _words(node: ast.AST) -> set[str]:
    """All names in a node, and all words of its strings, as a registry may look them up."""
    words: set[str] = set()
    for inner in walk(node):
        if isinstance(inner, ast.Name):
            words.add(inner.id)
        elif isinstance(inner, ast.Attribute):
            words.add(inner.attr)
        elif isinstance(inner, ast.Constant) and isinstance(inner.value, str):
            words.update(_WORD.findall(inner.value))
    return words
