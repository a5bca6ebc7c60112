"""Makes one finding of several in a program that have one cause.

Four kinds are joined: findings whose stanza says `across`, which have the same sentence, or the same thought where it says
"thought"; findings with the same sentence about the same statement, letter by letter; and findings with the same sentence in many
files. They are joined within a program, which is a folder with its own list of packages, or within a folder, as scripts for a
cluster. The first file speaks, of one thought the file with most places, a test only if there is no other; the other files
become its places. Only files of the run are joined. Findings that are edited or suppressed stay.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import replace

from porter.engine.rule import NEEDED
from porter.engine.together import ALSO, FILES, PLACES, further_places, is_only_told, lines_of, sentence
from porter.files.kinds import PYTHON, kind_of
from porter.files.paths import folder_of, is_test
from porter.finding import SEVERITIES, FileResult, Finding
from porter.project.package_users import list_paths
from porter.project.set_aside import RESTS
from porter.regex import lazy
from porter.versions import sure

_SHOWN = 8  # files that a message names; further ones are counted
_OF_CODE = tuple(f"PRT{family}" for family in "1234567")  # families about code that runs
_KNOWN_AGAIN = 16  # characters of a line; a shorter line may be the same by chance
_FEW = 5  # if more files of a program have the same sentence, one speaks for all, whatever the statements are
_DEMOS = lazy(r"(?:^|/)(?:demos?|examples?|docs?|tests?)/")  # a demo is no program, even with its own list of packages
_OUTDATED = lazy(r"(?i)(?:^|/)(?:legacy|deprecated|archived?|backup|old)/|_(?:deprecated|backup|old)\.\w+$")
_WHY, _SEVERITY = 2, 3  # where they stand in the key of findings that are alike
_THOUGHT = "thought"  # of `across`; it ends the key of findings that have a thought in common, not a sentence
_TESTED, _CALLED = "tested", "call"  # a message for a test, and that for the code that it tests
_CARRIED = ("bystanders", "bystander_files")  # values that the speaker takes over from the others


def told_together(
    results: Sequence[FileResult],
    listed: Callable[[], Iterable[str]],
    across: Callable[[str], str],
    thought: Callable[[str, str], str],
    text: Callable[[str], bytes],
) -> list[FileResult]:
    """The results with one finding for each cause. `listed`: all files. `across`: the word of a code, "" for none. `thought`: what
    answers all places with a message of a code."""
    found = [f for result in results for f in result.findings if is_only_told(f) and (across(f.code) or _is_of_code(f))]
    if len(found) < 2:
        return list(results)
    home = Homes(listed())
    alike: dict[tuple[Hashable, ...], list[Finding]] = {}
    for f in sorted(found, key=_first):
        where = folder_of(f.path) if across(f.code) == "folder" else home.of(f.path)
        word = thought(f.code, f.why) if across(f.code) == _THOUGHT else ""
        at_rest = tuple(value for value in f.values if value[0] in RESTS)
        said = (f.code, word, f.severity, at_rest, _THOUGHT) if word else sentence(f)
        alike.setdefault((where, *said), []).append(f)
    _join_tests(alike)
    groups: list[list[Finding]] = []
    for said, several in alike.items():
        is_common = said[-1] == _THOUGHT or across(several[0].code) not in ("", _THOUGHT)
        is_common = is_common or len({f.path for f in several}) > _FEW
        if said[-1] == _THOUGHT:
            _most_first(several)
        groups += [several] if is_common else _copies(several, text)
    told = {several[0]: of_all(several) for several in groups if len(several) > 1}
    left = {f for several in groups for f in several[1:]}
    files = {f.path for several in groups if len(several) > 1 for f in several}

    def folded(result: FileResult) -> FileResult:
        kept = (told.get(f, f) for f in result.findings if f not in left)
        return replace(result, findings=tuple(sorted(kept)))

    return [folded(result) if result.path in files else result for result in results]


def _most_first(findings: list[Finding]) -> None:
    """Sorts findings with one thought: the file with most places speaks, as it is the one to begin with."""
    places = Counter(f.path for f in findings for _ in lines_of(f))
    findings.sort(key=lambda f: (*_first(f)[:-1], -places[f.path], f))


def _join_tests(alike: dict[tuple[Hashable, ...], list[Finding]]) -> None:
    """Adds what is said of tests, as a note, to what is said of the code that they test: that is the same port."""
    notes = [key for key, several in alike.items() if several[0].severity == "note" and is_test(several[0].path)]
    for key in notes:
        words = [key[_WHY], *([_CALLED] if key[_WHY] == _TESTED else [])]
        worse = (
            (*key[:_WHY], why, other, *key[_SEVERITY + 1 :]) for why in words for other in SEVERITIES if other != "note"
        )
        if tested := next((other for other in worse if other in alike), None):
            alike[tested] += alike.pop(key)


def _is_of_code(finding: Finding) -> bool:
    """Whether it is about code that runs, or about a settings file that nothing loads: those are copied with their mistakes."""
    return finding.code.startswith(_OF_CODE) and kind_of(finding.path) == PYTHON or finding.why == "malformed"


def _copies(findings: Sequence[Finding], text: Callable[[str], bytes]) -> Iterable[list[Finding]]:
    """The findings in groups by the text of their line. If a text is in a file twice, its second place goes with the second place
    in other files."""
    if len({f.path for f in findings}) < 2:
        return ()
    groups: dict[tuple[bytes, int], list[Finding]] = {}
    times: Counter[tuple[str, bytes]] = Counter()
    for f in findings:
        if line := _line(text(f.path), f.line):
            times[f.path, line] += 1
            groups.setdefault((line, times[f.path, line]), []).append(f)
    return groups.values()


def _line(text: bytes, number: int) -> bytes:
    """A line of a text; empty where it is too short to be compared."""
    line = text.split(b"\n", number)[number - 1].strip() if number <= text.count(b"\n") + 1 else b""
    return line if len(line) >= _KNOWN_AGAIN else b""


class Homes:
    """The programs of a project, by their folders."""

    def __init__(self, files: Iterable[str]) -> None:
        self._folders = {folder_of(path) for path in list_paths(files) if not _DEMOS.search(path)}

    def of(self, path: str) -> str:
        """The folder of the program that a file belongs to, with its slash; "" for the whole project."""
        end = path.rfind("/")
        while end >= 0:
            if path[: end + 1] in self._folders:
                return path[: end + 1]
            end = path.rfind("/", 0, end)
        return ""


def _first(finding: Finding) -> tuple[bool, bool, bool, Finding]:
    """For sorting: the finding that speaks comes first."""
    path = finding.path
    return (
        is_test(path) or _DEMOS.search(path) is not None,
        _OUTDATED.search(path) is not None,
        kind_of(path) != PYTHON,
        finding,
    )


def of_all(findings: Sequence[Finding]) -> Finding:
    """The first finding, with the places of all."""
    first, values = findings[0], dict(findings[0].values)
    for f in findings[1:]:
        more = dict(f.values)
        values |= {key: more[key] for key in _CARRIED if key in more and _CARRIED[0] not in values}
        if NEEDED in more:
            values[NEEDED] = max(values.get(NEEDED, more[NEEDED]), more[NEEDED], key=sure)
    all_places = [place for f in findings for place in [(f.path, f.line), *further_places(f.path, dict(f.values))]]
    lines = dict.fromkeys(line for path, line in all_places if path == first.path and line != first.line)
    if lines:
        values[ALSO] = ", ".join(map(str, lines))
    places = list(dict.fromkeys(place for place in all_places if place[0] != first.path))
    if places:
        names = list(dict.fromkeys(path for path, _ in places))
        more_files = len(names) - _SHOWN
        values[FILES] = ", ".join(names[:_SHOWN]) + (f" (+{more_files})" if more_files > 0 else "")
        values[PLACES] = ", ".join(f"{path}:{line}" for path, line in places)
    return replace(first, values=tuple(values.items()))
