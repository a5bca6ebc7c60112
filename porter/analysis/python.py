"""Analyses one Python file: findings and byte edits come out. Never raises: a finding says what cannot be analysed."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from porter.advice.observe import observed
from porter.analysis.again import Again, near
from porter.analysis.candidates import candidates
from porter.analysis.left_over import LEFT, left_over
from porter.analysis.promises import Edits, promised
from porter.analysis.python_promises import Before, check
from porter.analysis.shim_import import told
from porter.analysis.toolkit import builds_cuda, why_left
from porter.analysis.torn import torn
from porter.engine.refusals import about, finding, guarded, own, unread
from porter.engine.rule import AtHead, BatchRule, Hit, Rule
from porter.engine.session import Session, concern
from porter.engine.together import folded
from porter.errors import Broken
from porter.finding import Change, FileResult, Finding
from porter.project.roads import leads
from porter.python.index import chain_span, lines_of
from porter.python.inventory import add_methods, inventory
from porter.python.source import Source
from porter.python.strings.sites import sites_of, with_status
from porter.rulebook.gate import GATE

if TYPE_CHECKING:
    from porter.analysis.file import File
    from porter.python.outcomes import Cut, Outcome
    from porter.python.units import Piece, Unit

_PYTHON = ".".join(map(str, sys.version_info[:2]))


def analyse(path: str, data: bytes, session: Session) -> FileResult:
    if not (GATE.search(data) or concern(session, data) or session.facts.accelerators.shimmed.starts_at(path)):
        return unread(path, data)
    return guarded(path, data, session, lambda result: _analyse(result, data, session))


def _analyse(result: FileResult, data: bytes, session: Session) -> FileResult:
    result, written, before = _examined(result, Source(data), session)
    # the tree of the old text is freed by now; the port gets its own trees
    kept = promised(result.path, result.findings, written, lambda edits: check(before, edits, look), session)
    quiet = session.quiet.codes(result.path)
    sites = with_status(result.sites, kept.findings, before.source, before.suppressions, quiet)
    result = replace(result, auto=kept.auto, review=kept.review, sites=sites)
    return replace(result, findings=folded(kept.findings, session, before.functions))


def _examined(result: FileResult, source: Source, session: Session) -> tuple[FileResult, list[Edits | Broken], Before]:
    """The result of a file without its edits, the edits that are to be checked, and what the check has to know."""
    analysis = look(result.path, source, session)
    file = analysis.file
    apis = file.failures.guard("inventory", 1, lambda: inventory(file)) or ()
    advice = file.failures.guard("advise", 1, lambda: observed(file)) or ()
    findings, (sites, ties) = tuple(analysis.findings()), sites_of(file)
    result = replace(result, parsed=True, apis=apis, observed=advice, findings=findings, sites=sites, ties=ties)
    return result, (written := analysis.written()), Before.of(file, written)


def look(path: str, source: Source, session: Session, again: Again | None = None) -> Analysis:
    """Indexes a file, cuts out the statements that matter, and asks every rule. `again`: only for edits of a ported text."""
    from porter.analysis.file import File

    file = File(path, source, session, again is not None)
    analysis = Analysis(file, again is None or again.unsafe)
    analysis.own_findings += [own(path, line, "PRT002", "newer", session, python=_PYTHON) for line in file.hidden]
    if file.suppressions.skip is not None:
        return analysis
    links = candidates(file, again and near(file, again))
    units: dict[tuple[int, int], Unit] = {}
    if links:
        from porter.python.units import SPARE, unit_of  # loads libcst, which takes longer than all of this
    if again is None:
        file.failures.guard("inventory", 1, lambda: add_methods(file))
        for rule in session.rules.of_index:
            hits = file.failures.guard([rule], 1, lambda: list(rule.look(file))) or ()  # noqa: B023
            analysis.of_index += [(hit.code or rule.code, hit) for hit in hits]
    for link in links:
        if (unit := unit_of(link, source)) is not None:
            units.setdefault((unit.start, unit.end), unit)
    for _, unit in sorted(units.items()):
        analysis.walk(unit)
    if links:
        SPARE.settle()
    return analysis


class Analysis:
    """What one look at a file found, and the edits that follow from it."""

    def __init__(self, file: File, unsafe: bool = True) -> None:
        self._wants_unsafe = unsafe
        self.file, self._source, self.session = file, file.source, file.session
        self.outcomes: list[Outcome] = []  # all hits, after the first walk, which makes the automatic edits
        self._unsafe: list[Outcome] = []  # the hits after the second walk, which makes the edits to review as well
        self.of_index: list[tuple[str, Hit]] = []  # (code, hit) of rules that need no LibCST
        self.own_findings: list[Finding] = []  # findings about porter's own work
        self._auto: list[Change] = []
        self._review: list[Change] = []
        self._reviews = False
        self._broken: dict[bool, Broken] = {}  # by `unsafe`: the first promise that edits break
        self._builds: dict[Unit, bool] = {}  # whether a statement builds CUDA sources
        self._leads = leads(file.path, file.source.utf8, file.facts.roads)  # whether a road leads to torch
        self._torn: set[tuple[Rule, tuple[int, int]]] = set()  # edits that would change half of a condition

    def walk(self, unit: Unit) -> None:
        import libcst as cst

        from porter.python.rewrite import rewrite
        from porter.python.units import Piece

        file = self.file
        try:
            piece = Piece(unit, self._source)
            file.look_at(piece)

            def wanted(rule: Rule, hit: Hit, piece: Piece) -> bool:
                whole = not self._torn or (rule, piece.span(hit.at)) not in self._torn
                return piece.exact and whole and self._safe(rule, hit, piece) and self._active(rule, hit, piece)

            outcomes, auto = rewrite(file, piece, wanted)
            if half := torn(self._source, piece, outcomes):
                self._torn |= half
                outcomes, auto = rewrite(file, piece, wanted)
        except (cst.ParserSyntaxError, RecursionError):
            line, column = self._source.place(unit.start)
            self.own_findings.append(own(file.path, line, "PRT002", "statement", self.session, column=column))
            return
        except Broken as broken:
            self._broken.setdefault(False, broken)
            outcomes, auto = rewrite(file, piece, lambda r, h, p: False)
        unsafe, review = outcomes, auto
        if self._wants_unsafe and piece.exact and any(self._to_review(f, piece) for f in outcomes):
            self._reviews = True
            try:
                unsafe, review = rewrite(file, piece, lambda r, h, p: self._active(r, h, p))
                if half := torn(self._source, piece, unsafe):  # a person edits these conditions
                    unsafe, review = rewrite(
                        file, piece, lambda r, h, p: self._active(r, h, p) and (r, p.span(h.at)) not in half
                    )
                    for outcome in (f for f in (*outcomes, *unsafe) if (f.rule, piece.span(f.hit.at)) in half):
                        outcome.hit, outcome.edits = replace(outcome.hit, new=None, after=(), more=()), False
            except Broken as broken:
                self._broken.setdefault(True, broken)
        if unsafe is not outcomes:
            self._pair(outcomes, unsafe)
        for outcome in outcomes if unsafe is outcomes else (*outcomes, *unsafe):
            outcome.let_go()
        self.outcomes += outcomes
        self._unsafe += unsafe
        self._auto += auto
        self._review += review
        piece.give_back()

    @staticmethod
    def _pair(outcomes: list[Outcome], unsafe: list[Outcome]) -> None:
        """Hits to review get their edits from the second walk. If a rule failed there, its hit gets none."""
        twins: dict[object, list[Outcome]] = {}
        for outcome in reversed(unsafe):
            twins.setdefault((outcome.rule, outcome.node), []).append(outcome)
        for f in outcomes:
            several = twins.get((f.rule, f.node))
            twin = several.pop() if several else None
            if twin is None:
                f.hit, f.edits = replace(f.hit, new=None, after=(), more=()), False
            elif not f.applied:
                f.edit = twin.edit

    def _to_review(self, outcome: Outcome, piece: Piece) -> bool:
        rule, hit = outcome.rule, outcome.hit
        half = self._torn and (rule, piece.span(hit.at)) in self._torn
        return (half or not self._safe(rule, hit, piece)) and outcome.edits and self._active(rule, hit, piece)

    def _active(self, rule: Rule, hit: Hit, piece: Piece | Cut) -> bool:
        """Whether a hit may be edited: a road leads to torch, what stands there can run, its code is on, no comment suppresses
        it, and it is no mere opportunity. Opportunities that the user asks for have `more`."""
        code = hit.code or rule.code
        return (
            not why_left(self.file, piece.unit, self._leads)
            and (not hit.optional or bool(hit.more))
            and code not in self.session.quiet.codes(self.file.path)
            and self._reason(code, hit, piece) is None
        )

    def _safe(self, rule: Rule, hit: Hit, piece: Piece | Cut) -> bool:
        """Whether a hit is edited without review. A person reviews edits where CUDA sources are built, which are meant for
        CUDA, and in files that choose between devices already, where CUDA may be right."""
        if hit.optional:
            return True  # the user asked for it
        if hit.safe and self.file.awareness.partly:
            return False
        if hit.safe and piece.unit not in self._builds:  # kept, because each call reads the whole statement
            self._builds[piece.unit] = builds_cuda(self.file, piece.unit)
        return hit.safe and not self._builds[piece.unit]

    def _reason(self, code: str, hit: Hit, piece: Piece | Cut) -> str | None:
        first_line, last_line = self._source.line(piece.unit.start), self._source.line(piece.unit.end)
        return self.file.suppressions.reason(code, first_line, last_line)

    def changes(self, unsafe: bool) -> tuple[Change, ...]:
        """All changes of the file, in offsets of the UTF-8 text, with imports and other lines that the edits need."""
        from porter.python.heads import place_heads
        from porter.python.imports import below, place_imports

        applied = [f for f in (self._unsafe if unsafe else self.outcomes) if f.applied]
        due = [f for f in applied if not f.hit.optional]
        extra = {change for f in due for change in (*below(self.file, f), *f.hit.more)}
        made = {*(self._review if unsafe else self._auto), *extra}
        for outcome in applied:
            if outcome.hit.optional and not any(
                a.start < b.end and b.start < a.end for a in outcome.hit.more for b in made
            ):
                due.append(outcome)
                made |= {*outcome.hit.more}
        heads = place_heads(self.file, made, (line for f in due for line in f.hit.after if isinstance(line, AtHead)))
        return tuple(sorted({*made, *heads, *place_imports(self.file, [f for f in due if f.hit.loads], made)}))

    def written(self) -> list[Edits | Broken]:
        """The automatic edits, and then, if there are any to review, all edits. The last item may be the reason against edits."""
        out: list[Edits | Broken] = []
        for unsafe in (False, True)[: 1 + self._reviews]:
            applied = [f for f in (self._unsafe if unsafe else self.outcomes) if f.applied]
            codes = {f.hit.code or f.rule.code for f in applied}
            try:
                if broken := self._broken.get(unsafe):
                    broken.values["codes"] = ", ".join(sorted({*codes, broken.values["codes"]}))
                    raise broken
                changes = self.changes(unsafe)
                places = tuple(f.place[0] for f in applied)
                out.append(Edits(changes, self.stored(changes), ", ".join(sorted(codes)), unsafe, places))
            except Broken as broken:
                return [*out, broken]
        return out

    def stored(self, changes: tuple[Change, ...]) -> tuple[Change, ...]:
        """The same edits in offsets of the bytes on disk."""
        try:
            return self._source.stored.edits(changes)
        except UnicodeError as error:
            raise Broken("round-trip", error=str(error).partition("\n")[0]) from None

    def _kept(self, edit: tuple[Change, ...]) -> tuple[Change, ...]:
        """`stored`; () for an edit that the encoding of the file cannot hold. `written` refuses such edits."""
        try:
            return self.stored(edit)
        except Broken:
            return ()

    def findings(self) -> list[Finding]:
        from porter.python.imports import not_inserted

        session, path, source = self.session, self.file.path, self._source
        quiet, out = session.quiet.codes(path), list(self.own_findings)
        for f in self.outcomes:
            hit, code = f.hit, f.hit.code or f.rule.code
            if code in quiet:
                continue
            (start, end), left = f.place, why_left(self.file, f.piece.unit, self._leads)
            if left and (f.edits or hit.optional or left == "behind" and not code.startswith("PRT4")):  # of kernels
                out += self._stays(f, code, start, left)
                continue
            safe = self._safe(f.rule, hit, f.piece) and (f.rule, f.place) not in self._torn
            status = ("auto" if safe else "review") if f.edits and f.piece.exact else "manual"
            by = self.file.scene.callers.served_by(source.line(start)) if isinstance(f.rule, BatchRule) else ""
            hit = replace(hit, values=(*hit.values, ("served_by", by))) if by else hit
            places, edit = (source.place(start), source.place(end)), self._kept(f.edit)
            reason = self._reason(code, f.hit, f.piece)
            out.append(finding(session, path, hit, code, *places, status=status, edit=edit, suppressed=reason))
        unsafe = [f for f in self._unsafe if f.applied and f.hit.loads]
        out += [own(path, line, "PRT004", key, session) for line, key in not_inserted(self.file, unsafe)]
        out += told(self.file, self._kept)
        out += [self._of_index(code, hit) for code, hit in self.of_index if code not in quiet]
        out += self.file.failures.guard(LEFT, 1, lambda: left_over(self.file, self._told_lines(out), self._leads)) or ()
        return [*out, *self.file.failures.findings(path, session), *about(self.file.suppressions, path, session)]

    def _told_lines(self, shown: list[Finding]) -> set[int]:
        """The lines that some hit or finding speaks of, even if its code is switched off."""
        spans = [(f.line, f.end_line) for f in shown] + [tuple(map(self._source.line, f.place)) for f in self.outcomes]
        return {line for start, end in spans for line in range(start, max(start, end) + 1)}

    def _stays(self, outcome: Outcome, code: str, start: int, left: str) -> list[Finding]:
        """The finding for an edit that is not made. There is none if the project has no torch."""
        why, quiet = self._reason(code, outcome.hit, outcome.piece), self.session.quiet.codes(self.file.path)
        if not self.session.facts.roads.torch or outcome.hit.optional or "PRT006" in quiet:
            return []
        line, column = self._source.place(start)
        remark = own(self.file.path, line, "PRT006", left, self.session, column=column, code=code)
        return [replace(remark, suppressed=self._reason("PRT006", outcome.hit, outcome.piece) if why is None else why)]

    def _of_index(self, code: str, hit: Hit) -> Finding:
        source = self._source
        start, end = map(source.place, chain_span(hit.at, source))
        reason = self.file.suppressions.reason(code, *lines_of(hit.at))
        return finding(self.session, self.file.path, hit, code, start, end, suppressed=reason)
