"""Files that are right only together: a constant that holds a device or a backend, and those who import and compare it.

Where one of them had to stay as it was, the others stay too: "nccl" here and "hccl" there would be worse than no port.
The same goes for a script that hands a program `--backend hccl` before the program's parser takes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from porter.finding import FileResult, Finding

from .facts import Facts


def hold_back(results: Iterable[FileResult], facts: Facts, refusal: Callable[..., Finding]) -> list[FileResult]:
    """The results with the edits of files taken back that are joined to a refused one.

    `refusal(path, culprit=..., codes=...) -> Finding` words what happened.
    """
    results = _options(list(results), facts)
    partners: dict[str, set[str]] = {}
    for path, _, _, user in facts.constants:
        partners.setdefault(path, set()).add(user)
        partners.setdefault(user, set()).add(path)
    if not partners:
        return results
    todo = sorted((r.path, r.path) for r in results if r.path in partners and _refused(r))
    culprit = dict(todo)  # what is left of its own edits is half a port, too
    for path, origin in todo:  # grows while it is walked
        for partner in sorted(partners.get(path, ())):
            if partner not in culprit:
                culprit[partner] = origin
                todo.append((partner, origin))
    return [_taken_back(r, culprit[r.path], refusal) if r.path in culprit and r.review else r for r in results]


def _options(results: list[FileResult], facts: Facts) -> list[FileResult]:
    """Scripts whose option no parser takes unseen wait for a look with it."""
    declared = {path for _, _, path in facts.takes}
    waits = {r.path for r in results if r.path in declared and (_refused(r) or any(map(_undecided, r.findings)))}
    flags = {name for name, _, path in facts.takes if path in waits}
    return [_waiting(r, flags) for r in results] if flags else results


def _undecided(finding: Finding) -> bool:
    return finding.code in ("PRT123", "PRT209") and (finding.status != "auto" or finding.suppressed is not None)


def _waiting(result: FileResult, flags: set[str]) -> FileResult:
    held = [f for f in result.findings if f.code == "PRT825" and f.status == "auto" and _flag(f) in flags]
    if not held:
        return result
    edits = {change for finding in held for change in finding.edit}
    findings = (replace(f, status="review", why="unknown") if f in held else f for f in result.findings)
    return replace(
        result, findings=tuple(sorted(findings)), auto=tuple(change for change in result.auto if change not in edits)
    )


def _flag(finding: Finding) -> str:
    return dict(finding.values)["flag"].lstrip("-").replace("_", "-")


def _refused(result: FileResult) -> bool:
    return any(f.code in ("PRT002", "PRT003") for f in result.findings)


def _taken_back(result: FileResult, culprit: str, refusal: Callable[..., Finding]) -> FileResult:
    codes = ", ".join(sorted({f.code for f in result.findings if f.edit}))
    because = refusal(result.path, culprit=culprit, codes=codes)
    findings = [f if f.status == "manual" else replace(f, status="manual", edit=()) for f in result.findings]
    return replace(result, findings=tuple(sorted([*findings, because])), auto=(), review=())
