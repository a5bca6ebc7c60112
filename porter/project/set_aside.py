"""Moves findings on which nobody has to act to the inventory of the report: about code that may stay as it is, and about code
that nothing runs. Findings that are edited, suppressed, or about porter's own work stay.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from porter.engine.together import is_only_told
from porter.finding import FileResult, Finding
from porter.regex import lazy
from porter.rulebook.table import any_of

# keys of `Finding.values` with which porter/project/resting.py says that nothing runs the place, that another place does what it
# asks for, or that it is in a copy of a library which nobody ports
RESTS = frozenset("unused never off apple demo unloaded chosen built light bundled copied torchless".split())
SPEAKS = frozenset({"bystanders", "other_files"})  # keys of `Finding.values`: the finding speaks for other files
_OF_SERVICES = lazy(any_of("settings-of-a-pipeline"))  # files of CI services, which run on GPUs
# scripts that set up a machine of Google Colab, which has no NPU
_OF_COLAB = lazy(r"(?i)(?:^|/)(?:[^/]*[_-])?colab(?:[_-][^/]*)?\.sh$")

# scripts that build the wheels of a release for GPUs, or apex
_OF_RELEASES = lazy(
    r"(?i)(?:^|/)(?:packaging|releases?|wheels?)/(?:[^/]+/)*[^/]+\.(?:sh|bash)$"
    r"|(?:^|/)(?:packaging/(?:[^/]+/)*)?apex(?:[_-](?:conda|pip|wheels?))?/(?:[^/]+/)*(?:build\.py|meta\.ya?ml)$"
    r"|(?:^|/)(?:install|build)[_-]apex\.(?:sh|bash)$"
)


def set_aside(results: Iterable[FileResult], may_stay: Callable[[str, str], bool]) -> list[FileResult]:
    """The results, with such findings in their inventory. `may_stay`: whether findings of a code and message need no action."""

    def aside(finding: Finding) -> bool:
        if not is_only_told(finding):
            return False
        if not RESTS.isdisjoint(dict(finding.values)) or may_stay(finding.code, finding.why):
            return True
        if _OF_COLAB.search(finding.path) or _OF_RELEASES.search(finding.path):
            return True
        return finding.severity == "note" and _OF_SERVICES.search(finding.path) is not None

    return [_split(result, aside) for result in results]


def _split(result: FileResult, aside: Callable[[Finding], bool]) -> FileResult:
    kept: list[Finding] = []
    rows: list[Finding] = []
    for finding in result.findings:
        (rows if aside(finding) else kept).append(finding)
    return replace(result, findings=tuple(kept), inventory=(*result.inventory, *rows)) if rows else result
