"""One cause is one finding across files, too: what a rule says `across` the files of a program is told in one of them.

A program is what has a list of packages of its own; scripts that ask a cluster for GPUs are told by folder. Its first file
speaks, a test only for tests; the others are its places. Where one of them alone is analysed, it speaks for itself; what is
edited or suppressed always does.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import replace

from porter.engine.together import ALSO, FILES, PLACES, is_only_told, lines_of, sentence
from porter.files.kinds import PYTHON, kind_of
from porter.files.paths import is_test
from porter.finding import FileResult, Finding
from porter.project.package_users import list_paths
from porter.regex import lazy

_SHOWN = 8
_SHOWN_BY = lazy(
    r"(?:^|/)(?:demos?|examples?|docs?|tests?)/"
)  # its list of packages makes a demo no program of its own
_CARRIED = ("bystanders", "bystander_files")  # files that the one which speaks has to name for another


def told_together(
    results: Sequence[FileResult], listed: Callable[[], Iterable[str]], across: Callable[[str], str]
) -> list[FileResult]:
    """The results with one finding for what one thought answers; `listed`: all files; `across`: of a code, see there."""
    found = [f for result in results for f in result.findings if across(f.code) and is_only_told(f)]
    if len({f.path for f in found}) < 2:
        return list(results)
    home = Homes(listed())
    groups: dict[tuple[Hashable, ...], list[Finding]] = {}
    for f in sorted(found, key=_first):
        where = home.of(f.path) if across(f.code) == "program" else f.path[: f.path.rfind("/") + 1]
        groups.setdefault((where, *sentence(f)), []).append(f)
    told = {several[0]: _of_all(several) for several in groups.values() if len(several) > 1}
    left = {f for several in groups.values() for f in several[1:]}
    files = {f.path for several in groups.values() if len(several) > 1 for f in several}

    def folded(result: FileResult) -> FileResult:
        kept = (told.get(f, f) for f in result.findings if f not in left)
        return replace(result, findings=tuple(sorted(kept)))

    return [folded(result) if result.path in files else result for result in results]


class Homes:
    """The programs of a project, by their folders."""

    def __init__(self, files: Iterable[str]) -> None:
        self._folders = {path[: path.rfind("/") + 1] for path in list_paths(files) if not _SHOWN_BY.search(path)}

    def of(self, path: str) -> str:
        end = path.rfind("/")
        while end >= 0:
            if path[: end + 1] in self._folders:
                return path[: end + 1]
            end = path.rfind("/", 0, end)
        return ""


def _first(finding: Finding) -> tuple[bool, bool, Finding]:
    return (is_test(finding.path), kind_of(finding.path) != PYTHON, finding)


def _of_all(findings: Sequence[Finding]) -> Finding:
    first, values = findings[0], dict(findings[0].values)
    for f in findings[1:]:
        more = dict(f.values)
        values |= {key: more[key] for key in _CARRIED if key in more and _CARRIED[0] not in values}
    lines = dict.fromkeys(line for f in findings if f.path == first.path for line in lines_of(f) if line != first.line)
    if lines:
        values[ALSO] = ", ".join(map(str, lines))
    places = [(f.path, line) for f in findings if f.path != first.path for line in lines_of(f)]
    if places:
        names = list(dict.fromkeys(path for path, _ in places))
        more_files = len(names) - _SHOWN
        values[FILES] = ", ".join(names[:_SHOWN]) + (f" (+{more_files})" if more_files > 0 else "")
        values[PLACES] = ", ".join(f"{path}:{line}" for path, line in places)
    return replace(first, values=tuple(values.items()))
