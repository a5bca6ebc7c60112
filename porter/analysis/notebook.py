"""Analyses notebooks. Their Python is one module for the Python engine, and their shell commands are one script. The edits
of both are written into the JSON strings of the cells."""

from __future__ import annotations

from dataclasses import dataclass, replace

from porter.analysis.promises import Edits, promised
from porter.analysis.python import analyse as analyse_python
from porter.analysis.text import examine
from porter.engine.refusals import guarded, own
from porter.engine.session import Session
from porter.engine.suppress import SPOKEN, Suppressions
from porter.engine.together import ALSO, further_lines, with_lines
from porter.errors import Broken
from porter.finding import STATUSES, Change, FileResult, Finding, Site
from porter.python.comments import to_porter
from porter.python.source import Source
from porter.regex import lazy
from porter.rulebook.gate import GATE
from porter.text.document import Document
from porter.text.notebooks.cells import Notebook, read
from porter.text.notebooks.check import fault
from porter.text.notebooks.shell import CellShell
from porter.text.notebooks.writer import Edit, View, written

_SHOWS = "PRT145"  # a call of nvidia-smi, which only shows the cards
_CHOOSES = "PRT801"  # a variable of CUDA, as the one that chooses among them
# the notebook gets its program from the net
_FETCHED = lazy(rb"\bgit[ \t]+clone[ \t]+(?:-\S+[ \t]+)*https?://")


def analyse(result: FileResult, data: bytes, session: Session) -> FileResult:
    """The result with findings and edits. Raises Unreadable if the file is no notebook."""
    book = read(Document(result.path, data, "notebook", session, ""))
    result = replace(result, parsed=True)
    if not book.lines:
        return result
    python, script = View(book, book.python_view, True), CellShell(book)
    shell = View(book, script.view, False)
    code = analyse_python(result.path, python.data, session)
    sides = [_Side(book, python, code)]
    if script.concerned:
        answer = guarded(result.path, shell.data, session, lambda whole: examine(script, whole, shell.data, session))
        sides.append(_Side(book, shell, answer if _is_ours(code, answer, shell.data) else _left_alone(answer)))
    if _is_skipped(python) or _is_skipped(shell):
        skipped = (
            _site(book, side, site, False)._replace(status="skipped") for side in sides for site in side.result.sites
        )
        return replace(result, sites=tuple(sorted(skipped)), ties=code.ties)
    findings = _agreed([side.findings for side in sides], script.remarks)
    if code.parsed or any(GATE.search(cell.text.encode("utf-8", "surrogatepass")) for cell in book.cells):
        broken = [own(result.path, line + 1, "PRT002", "cell", session) for line in sorted(book.broken.values())]
        findings += [with_lines(broken)] if broken else []
    codes = ", ".join(sorted({finding.code for finding in findings if finding.edit}))
    cells = {unsafe: [side.edits(unsafe) for side in sides] for unsafe in (False, True)}
    made = [Edits((), written(book, set().union(*cells[unsafe])), codes, unsafe) for unsafe in (False, True)]

    def check(edits: Edits) -> None:
        python, *shell = cells[edits.unsafe]
        if error := fault(book, python, set().union(*shell), edits.stored):
            raise Broken("reparse", error=error, codes=codes)

    kept = promised(result.path, findings, made[: 1 + (made[0].stored != made[1].stored)], check, session)
    findings, refused = kept.findings, any(f.code == "PRT003" for f in kept.findings)
    sites = tuple(sorted(_site(book, side, site, refused) for side in sides for site in side.result.sites))
    findings = sorted(_moved(book, finding) for finding in findings)
    apis = tuple((name, count, _place(book, line, 1)[0]) for name, count, line in code.apis)
    return replace(
        result,
        findings=tuple(findings),
        auto=kept.auto,
        review=kept.review,
        apis=apis,
        sites=sites,
        ties=code.ties,
    )


def _is_ours(code: FileResult, shell: FileResult, text: bytes) -> bool:
    """Whether the shell of a notebook is edited. It is not if the notebook fetches its program from the net and porter would
    edit nothing but its calls of nvidia-smi; of one that is called for Colab, the variables beside them as well."""
    written = {finding.code for result in (code, shell) for finding in result.findings if finding.edit}
    of_colab = "colab" in code.path.rpartition("/")[2].lower()  # a machine of Google, which has no NPU
    nobodys = {_SHOWS, _CHOOSES} if of_colab else {_SHOWS}
    return not (_SHOWS in written <= nobodys and _FETCHED.search(text))


def _left_alone(shell: FileResult) -> FileResult:
    """The result for a shell that is not edited: without edits, and without findings that would only help a port of it."""
    kept = (f for f in shell.findings if f.code != "PRT842" and not (f.code in (_SHOWS, _CHOOSES) and f.edit))
    return replace(shell, findings=tuple(kept), auto=(), review=())


@dataclass
class _Side:
    """The result of one engine for its view, with edits of cells in place of edits of the view."""

    book: Notebook
    view: View
    result: FileResult

    def __post_init__(self) -> None:
        result = self.result
        changes = {*result.auto, *result.review, *(change for finding in result.findings for change in finding.edit)}
        edited = {change: self.view.edits(change) for change in changes}
        self._edits = {change: edits for change, edits in edited.items() if edits is not None}
        refused = changes - self._edits.keys()
        kept: set[Change] = set()
        lost: set[Change] = set()
        self.findings: list[Finding] = []
        self.refused_lines: set[int] = set()
        for finding in result.findings:
            if refused.isdisjoint(finding.edit):
                kept |= {*finding.edit}
                edits = (edit for change in finding.edit for edit in self._edits[change])
                self.findings.append(replace(finding, edit=written(self.book, edits)))
            else:
                lost |= {*finding.edit}
                self.refused_lines.add(finding.line)
                values = (*finding.values, ("kept", "magic"))
                self.findings.append(replace(finding, status="manual", edit=(), values=values))
        self._lost = refused | (lost - kept)
        self._kept = kept
        path, session = result.path, self.book.document.session
        # such a change is an import of torch_npu, which belongs to no finding
        for change in sorted(refused - lost) if kept else ():
            line = self.view.data.count(b"\n", 0, change.start) + 1
            self.findings.append(own(path, line, "PRT004", "magic", session))

    def edits(self, unsafe: bool) -> set[Edit]:
        """The edits of cells; with `unsafe`, those to review as well."""
        left = {*(self.result.review if unsafe else self.result.auto)} - self._lost
        if self._lost and left.isdisjoint(self._kept):  # only imports are left, for edits that are lost
            return set()
        return {edit for change in left for edit in self._edits[change]}


def _site(book: Notebook, side: _Side, site: Site, refused: bool) -> Site:
    """The place of a device, moved from a view to the file. If an edit could not be written, the status says so."""
    status = site.status
    if status in STATUSES and (refused or site.line in side.refused_lines):
        status = "refused" if refused else "manual"
    return site._replace(line=_place(book, site.line, 1)[0], status=status)


def _is_skipped(view: View) -> bool:
    return SPOKEN in view.data and Suppressions(to_porter(Source(view.data))).skip is not None


def _agreed(sides: list[list[Finding]], shared: set[int]) -> list[Finding]:
    """The findings of both sides. `shared`: lines that both read. A suppression there is unused (PRT001) only if both sides
    say so."""
    idle = [{(f.line, f.values) for f in group if f.code == "PRT001"} for group in sides]
    return list(
        dict.fromkeys(
            finding
            for group in sides
            for finding in group
            if finding.code != "PRT001"
            or finding.line - 1 not in shared
            or all((finding.line, finding.values) in pairs for pairs in idle)
        )
    )


def _place(book: Notebook, line: int, column: int, end: bool = False) -> tuple[int, int]:
    """Line and column in the file of a place in a view."""
    number = min(line, len(book.lines)) - 1
    within = min(column - 1, len(book.lines[number].body))
    return book.document.place(book.file_offset(book.starts[number] + within, end))


def _moved(book: Notebook, finding: Finding) -> Finding:
    """The finding, with its place in the file instead of the view; its values name the cell and the line in it."""
    line, column = _place(book, finding.line, finding.column)
    last_line, behind = _place(book, max(finding.end_line, finding.line), finding.end_column, finding.end_column > 1)
    if (last_line, behind) < (line, column):
        last_line, behind = line, column
    shown = book.lines[min(finding.line, len(book.lines)) - 1]
    values = {**dict(finding.values), "cell": str(shown.cell.number), "cell_line": str(shown.number)}
    if also := further_lines(values):
        values[ALSO] = ", ".join(str(_place(book, number, 1)[0]) for number in also)
    return replace(
        finding, line=line, column=column, end_line=last_line, end_column=behind, values=tuple(sorted(values.items()))
    )
