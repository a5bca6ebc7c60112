"""Advice about code that nothing in the project uses is a note: it costs no run anything.

A function or class at the top of a file is used where its name stands in another file of the project, of whatever kind; in
a statement of its own file that runs on import; or in a function or class that is used. A file that only hands it on, or
has the name from elsewhere, does not use it. What is decorated is used, for a registry may have it. A project that looks
names up at run time, or that others install, may use all of its own. A package that is installed for programs of its own
project, and that nobody is told to install by itself, is no such thing.

So is all that is said of a file that nothing runs, and advice about code for Apple's MLX.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from porter.engine.together import lines_of
from porter.files.kinds import PYTHON, kind_of
from porter.finding import FileResult, Finding
from porter.project.apple_code import AppleCode
from porter.project.name_uses import Uses
from porter.python.graphs import reached
from porter.python.trees import parse
from porter.python.walks import walk
from porter.regex import lazy

_ADVICE = ("PRT3", "PRT6")  # families that speak of precision and of time
_OF_DEVICES = ("PRT2", "PRT3", "PRT4", "PRT5", "PRT6", "PRT7")  # families that matter only where something runs
_SPEAKS = frozenset({"bystanders", "other_files"})  # of `Finding.values`: it speaks for other files
_KERNELS = frozenset({"PRT132", "PRT411"})  # which function ends in a kernel, or asks for CUDA before it does
_WORD = lazy(r"[A-Za-z_]\w*")
_HEAD = lazy(rb"(?:async[ \t]+)?(?:def|class)[ \t]+([A-Za-z_]\w*)")
_INSIDE = lazy(rb"\s|$|#|[)\]}]")  # what stands at the margin, and begins nothing
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def rested(results: Iterable[FileResult], uses: Uses, once: Callable[[str, str], bool]) -> list[FileResult]:
    """The results with advice about unused code made notes, that name what is unused; `once`: of a code and its message,
    whether the first place of a file speaks for all."""
    return [_rested(result, uses, once) for result in results]


def _rested(result: FileResult, uses: Uses, once: Callable[[str, str], bool]) -> FileResult:
    told = [f for f in result.findings if _speaks_of_runs(f)]
    if not told or kind_of(result.path) != PYTHON:
        return result
    if uses.is_idle(result.path):
        return _as_notes(result, dict.fromkeys(told, ("unused", result.path)))
    apple = AppleCode(uses.text(result.path))
    result = _as_notes(result, {f: ("apple", "mlx") for f in told if all(map(apple.has, lines_of(f)))})
    return _rested_parts(result, uses, once)


def _as_notes(result: FileResult, why: Mapping[Finding, tuple[str, str]]) -> FileResult:
    if not why:
        return result
    findings = (replace(f, severity="note", values=(*f.values, why[f])) if f in why else f for f in result.findings)
    return replace(result, findings=tuple(findings))


def _rested_parts(result: FileResult, uses: Uses, once: Callable[[str, str], bool]) -> FileResult:
    advice = {f: lines_of(f) for f in result.findings if _is_advice(f) and not once(f.code, f.why)}
    if not advice or uses.is_installed(result.path):
        return result
    lines = uses.text(result.path).split(b"\n")
    owners = {f: {_owner(lines, number) for number in numbers} for f, numbers in advice.items()}
    names = {name for several in owners.values() for name in several if name}
    unused = _unused(names - uses.elsewhere(names, result.path), result.path, uses)
    resting = {f: ("unused", min(map(str, own))) for f, own in owners.items() if unused.issuperset(own)}
    return _as_notes(result, resting if unused else {})


def _unused(names: set[str], path: str, uses: Uses) -> set[str]:
    """Of the functions and classes at the top of a file that no other file mentions, those that nothing uses."""
    tree = parse(uses.text(path)) if names else None
    if tree is None:
        return set()
    own = {name: node for node in tree.body if (name := _defined(node))}
    inside = {name: _words(node) & own.keys() - {name} for name, node in own.items()}
    defining = {*own.values()}
    running = [node for node in tree.body if node not in defining or getattr(node, "decorator_list", None)]
    running = [node for node in running if not _is_list_of_names(node)]
    used = reached(set().union(*map(_words, running)) & own.keys(), lambda name: inside[name])
    used |= {node.name for node in running if isinstance(node, _DEFINITIONS)}
    users = {name: {user for user, words in inside.items() if name in words} for name in own}
    lines = {name: reached([name], lambda name: users[name]) for name in names & own.keys() - used}
    lines = {name: line for name, line in lines.items() if line.isdisjoint(used)}
    used = uses.elsewhere(set[str]().union(*lines.values()) - names, path)
    unused = {name for name, line in lines.items() if line.isdisjoint(used)}
    return set() if unused and uses.may_be_any(path) else unused


def _defined(node: ast.stmt) -> str:
    """The name of a function, of a class, or of an alias of one: `attend = Attend.apply`."""
    if isinstance(node, _DEFINITIONS):
        return node.name
    if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
        if isinstance(node.value, ast.Attribute) and isinstance(node.value.value, ast.Name):
            return node.targets[0].id
    return ""


def _is_advice(finding: Finding) -> bool:
    advice = finding.code.startswith(_ADVICE) and finding.severity in ("slow", "wrong")
    return (advice or finding.code in _KERNELS) and _is_more_than_a_note(finding)


def _speaks_of_runs(finding: Finding) -> bool:
    """What it says matters where its own file runs, and nowhere else."""
    speaks = finding.code.startswith(_OF_DEVICES) and _SPEAKS.isdisjoint(dict(finding.values))
    return speaks and _is_more_than_a_note(finding)


def _is_more_than_a_note(finding: Finding) -> bool:
    return finding.severity != "note" and not finding.edit and finding.suppressed is None


def _owner(lines: Sequence[bytes], number: int) -> str | None:
    """The function or class at the top of a file in which a line stands."""
    margin = (line for line in reversed(lines[:number]) if not _INSIDE.match(line))
    match = _HEAD.match(next(margin, b""))
    return match[1].decode() if match else None


def _is_list_of_names(node: ast.stmt) -> bool:
    """`__all__ = [...]`: what it hands on is used where somebody takes it."""
    return isinstance(node, ast.Assign) and any(getattr(target, "id", "") == "__all__" for target in node.targets)


def _words(node: ast.AST) -> set[str]:
    """All names, and all words of texts, for a registry may look them up."""
    words: set[str] = set()
    for inner in walk(node):
        if isinstance(inner, ast.Name):
            words.add(inner.id)
        elif isinstance(inner, ast.Attribute):
            words.add(inner.attr)
        elif isinstance(inner, ast.Constant) and isinstance(inner.value, str):
            words.update(_WORD.findall(inner.value))
    return words
