"""One file that is not Python in, findings and byte edits out, under the promises of the Python side.

`examine` may raise Unreadable. `analysis/analyse.py` calls it under `guarded`, which never raises.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from typing import cast

from porter.analysis.promises import Edits, applied, promised
from porter.engine.refusals import Failures, about, finding
from porter.engine.rule import Hit, TextRule, named
from porter.engine.session import Session
from porter.engine.style_of import STYLES
from porter.engine.together import folded
from porter.errors import Broken, Unreadable
from porter.finding import SHARED, Change, FileResult, Finding, Held, Site
from porter.project.roads import leads
from porter.text.document import Document, Format


def _format(kind: str | Format) -> Format:
    """The module of a kind, or what stands for one: MARK begins a comment, `read(document)` parses or raises Unreadable,
    READS says for which rules, `settled(document, tree, hits)`, where it has one, which of their hits stay, and
    `same(before, after)`, where it has one, compares what edits must not touch."""
    return cast("Format", import_module(f"porter.text.formats.{kind}")) if isinstance(kind, str) else kind


@dataclass
class _Look:
    document: Document
    tree: object
    hits: list[Hit]
    failures: Failures

    def changes(self, unsafe: bool) -> tuple[Change, ...]:
        document = self.document
        changes: set[Change] = set()
        for hit in self.hits:
            if hit.edits and not hit.optional and (hit.safe or unsafe) and _applies(document, hit):
                changes.update(
                    Change(document.byte(start), document.byte(end), new.encode("utf-8"))
                    for start, end, new in hit.edits
                )
        return tuple(sorted(changes))

    def written(self) -> list[Edits]:
        auto, review = self.changes(False), self.changes(True)
        alike = auto == review  # then one look at the port, for all
        made = [Edits((), auto, self._codes(False), alike)]
        return made if alike else [*made, Edits((), review, self._codes(True), True)]

    def _codes(self, unsafe: bool) -> str:
        return ", ".join(sorted({hit.code or "" for hit in self.hits if hit.edits and (hit.safe or unsafe)}))


def _document(path: str, data: bytes, kind: str | Format, session: Session) -> Document:
    return Document(path, data, kind, session, _format(kind).MARK)


def _look(document: Document, wanted: Callable[[TextRule], bool] | None = None) -> _Look:
    form = _format(document.kind)
    tree, failures, session = form.read(document), Failures(), document.session
    rules = list(filter(wanted, session.rules.of_text[form.READS]))
    hits = _asked(document, form, tree, rules, failures)
    code = getattr(form, "code", document.data)  # the shell of a notebook has the road of its Python
    if not leads(document.path, code, session.facts.roads):  # nobody asks it for an edit
        hits = [hit for hit in hits if not hit.edits]
    # A rule crashed: the hits stay, all edits go. An edit of the crashed rule may belong to the same change.
    if failures.first:
        hits = [replace(hit, edits=()) for hit in hits]
    hits = _written(hits, document)
    held = session.held_in(document.path) if session.held else {}
    hits = [_with_others(hit, held.get(hit.at[0])) for hit in hits]
    return _Look(document, tree, sorted(hits, key=lambda hit: (hit.at[0], hit.code or "", hit.why)), failures)


def _asked(document: Document, form: Format, tree: object, rules: Iterable[TextRule], failures: Failures) -> list[Hit]:
    """What the rules say; one that fails loses its own."""
    answers: list[Hit] = []
    for rule in rules:
        hits = failures.guard([rule], 1, lambda: list(rule.look(document, tree))) or ()  # noqa: B023
        answers += [hit if hit.code else replace(hit, code=rule.code) for hit in hits]
    settled = getattr(form, "settled", None)
    return answers if settled is None else list(settled(document, tree, answers))


def _written(hits: list[Hit], document: Document) -> list[Hit]:
    """Without the edits that the style of the port does not write. What they would change says which of two kinds of device a
    run uses: the code takes both, and does not wait for it."""
    style = STYLES[document.session.target.style](document.session.target, document.session.has)
    if document.session.target.shims:
        return [_under_shim(hit, document) for hit in hits]
    if style.one_world:
        return hits

    def fits(hit: Hit) -> bool:
        old = " ".join(document.text[start:end] for start, end, _ in hit.edits)
        return style.fits(hit.code or "", old, (new for _, _, new in hit.edits))

    return [hit if hit.edits and fits(hit) else replace(hit, edits=(), safe=False, holder="") for hit in hits]


def _under_shim(hit: Hit, document: Document) -> Hit:
    """The value of a device or a backend stays: the program that is given it imports transfer_to_npu."""
    if hit.code not in SHARED or not hit.edits:
        return hit
    old = " ".join(document.text[slice(*hit.at)].split())
    return Hit(hit.at, "setting", values=named(old=old), code="PRT150")


def _with_others(hit: Hit, held: Held | None) -> Hit:
    """As much of a hit as the other places with the same value allow."""
    if held is None or hit.code not in SHARED:
        return hit
    values = (*hit.values, *held.values())
    return replace(hit, safe=False, values=values, edits=hit.edits if held.status == "review" else ())


def _applies(document: Document, hit: Hit) -> bool:
    return hit.code not in document.session.quiet.codes(document.path) and _reason(document, hit) is None


def _reason(document: Document, hit: Hit) -> str | None:
    first_line, last_line = (document.place(offset)[0] for offset in (hit.at[0], max(hit.at[0], hit.at[1] - 1)))
    return document.suppressions.reason(hit.code or "", first_line, last_line)


def examine(kind: str | Format, result: FileResult, data: bytes, session: Session) -> FileResult:
    """What `analyse` guards. Raises Unreadable."""
    document = _document(result.path, data, kind, session)
    if document.suppressions.skip is not None:
        return replace(result, parsed=True, sites=_left_alone(document))
    looked = _look(document)
    findings = [_finding(document, hit) for hit in looked.hits]
    quiet = session.quiet.codes(result.path)
    findings = [f for f in findings if f.code not in quiet]
    kept = promised(result.path, findings, looked.written(), partial(_check, looked), session)
    findings = kept.findings + looked.failures.findings(result.path, session)
    findings += about(document.suppressions, result.path, session)
    first = {(f.line, f.column, f.code): f for f in reversed(findings)}
    sites = tuple(sorted(_site(document, hit, first, kept.refused) for hit in looked.hits if hit.holder))
    shown = folded(findings, session)
    return replace(result, parsed=True, findings=shown, auto=kept.auto, review=kept.review, sites=sites)


def places(kind: str, result: FileResult, data: bytes, session: Session) -> FileResult:
    """Of a file that is not edited, so that nobody asks what is to be done there, nor whether an edit keeps a promise."""
    return replace(result, sites=_left_alone(_document(result.path, data, kind, session)))


def _left_alone(document: Document) -> tuple[Site, ...]:
    """Of a file that is to be left alone, the places that others have to agree with."""
    try:
        hits = [hit for hit in _look(document, _has_holders).hits if hit.holder]
    except Unreadable:
        return ()
    return tuple(sorted(Site(h.holder, h.at[0], document.place(h.at[0])[0], h.role, "skipped") for h in hits))


def _has_holders(rule: TextRule) -> bool:
    return not SHARED.isdisjoint(rule.codes or (rule.code,))


def _site(document: Document, hit: Hit, findings: dict[tuple[int, int, str], Finding], refused: bool) -> Site:
    place = document.place(hit.at[0])
    known = findings.get((*place, hit.code or ""))
    if known is None:
        status = "quiet"
    elif known.suppressed is not None:
        status = "suppressed"
    else:
        status = known.status if known.edit else "refused" if refused else "manual"
    return Site(hit.holder, hit.at[0], place[0], hit.role, status)


def _finding(document: Document, hit: Hit) -> Finding:
    edit = sorted(
        Change(document.byte(start), document.byte(end), new.encode("utf-8")) for start, end, new in hit.edits
    )
    return finding(
        document.session,
        document.path,
        hit,
        hit.code or "",
        document.place(hit.at[0]),
        document.place(hit.at[1]),
        status="manual" if not hit.edits else "auto" if hit.safe else "review",
        edit=tuple(edit),
        suppressed=_reason(document, hit),
    )


def _check(looked: _Look, edits: Edits) -> None:
    document = looked.document
    data = applied(document.data, edits)
    try:
        session = document.session.ported(document.path, _in_text(document, edits.stored))
        again = _look(_document(document.path, data, document.kind, session))
    except Unreadable as error:
        raise _unread(looked, edits, error.error) from None
    same = getattr(_format(document.kind), "same", None)
    if same is not None and not same(looked.tree, again.tree):
        raise _unread(looked, edits, "structure")
    if again.changes(edits.unsafe) or again.failures.first:
        raise Broken("unstable", codes=edits.codes)
    if _ends(document.data) != _ends(data):
        raise Broken("newline", codes=edits.codes)


def _unread(looked: _Look, edits: Edits, error: str) -> Broken:
    if damaged := getattr(looked.tree, "damaged", 0):  # what was whole before no parser can tell
        return Broken("unchecked", damaged, "PRT002")
    return Broken("reparse", error=error, codes=edits.codes)


def _in_text(document: Document, changes: tuple[Change, ...]) -> tuple[Change, ...]:
    """The same changes in characters of the text."""

    character = document.character
    return tuple(Change(character(c.start), character(c.end), b" " * len(c.new.decode("utf-8"))) for c in changes)


def _ends(data: bytes) -> tuple[bool, bool, bool]:
    """Whether there are line ends of either kind, and one at the end."""
    return b"\r\n" in data, b"\n" in data.replace(b"\r\n", b""), data[-1:] in (b"\n", b"\r")
