"""Analyses one file that is not Python: findings and byte edits come out. They keep the same promises as those of Python.

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
    """The format of a kind of file: its module, or an object with the same members. MARK begins a comment, READS names the
    rules that are asked, and `read(document)` gives the tree or raises Unreadable. Two functions are optional:
    `settled(document, tree, hits)` gives the hits that stay, `same(before, after)` compares what edits must not touch."""
    return cast("Format", import_module(f"porter.text.formats.{kind}")) if isinstance(kind, str) else kind


@dataclass
class _Look:
    """The result of one look at a text: its hits, and the edits that follow from them."""

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
        alike = auto == review  # then the port is checked only once
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
    code = getattr(form, "code", document.data)  # for the shell of a notebook, its Python says whether torch is used
    if not leads(document.path, code, session.facts.roads):
        hits = [hit for hit in hits if not hit.edits]
    # A rule crashed: the hits stay, all edits go. An edit of the crashed rule may belong to the same change.
    if failures.first:
        hits = [replace(hit, edits=()) for hit in hits]
    hits = _written(hits, document)
    held = session.held_in(document.path) if session.held else {}
    hits = [_with_others(hit, held.get(hit.at[0])) for hit in hits]
    return _Look(document, tree, sorted(hits, key=lambda hit: (hit.at[0], hit.code or "", hit.why)), failures)


def _asked(document: Document, form: Format, tree: object, rules: Iterable[TextRule], failures: Failures) -> list[Hit]:
    """The hits of the rules. A rule that fails has none."""
    answers: list[Hit] = []
    for rule in rules:
        hits = failures.guard([rule], 1, lambda: list(rule.look(document, tree))) or ()  # noqa: B023
        answers += [hit if hit.code else replace(hit, code=rule.code) for hit in hits]
    settled = getattr(form, "settled", None)
    return answers if settled is None else list(settled(document, tree, answers))


def _written(hits: list[Hit], document: Document) -> list[Hit]:
    """The hits without the edits that the style of the port does not write. Such a value chooses between the kinds of device
    that the ported code supports, so that its other places need not wait for it: the hit loses its holder."""
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
    """The hit with the edits that the other places of the same value allow."""
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
    """The result with findings and edits of a file. Raises Unreadable."""
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
    """The result with the places of values in a file that is not edited. It has no findings, and no edits to check."""
    return replace(result, sites=_left_alone(_document(result.path, data, kind, session)))


def _left_alone(document: Document) -> tuple[Site, ...]:
    """The places of values in a file that is not edited. Places of the same values in other files have to agree with them."""
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
    """Raises Broken if the port breaks a promise."""
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
    # the old text has a damaged part already, so that nobody can tell whether the edits broke anything
    if damaged := getattr(looked.tree, "damaged", 0):
        return Broken("unchecked", damaged, "PRT002")
    return Broken("reparse", error=error, codes=edits.codes)


def _in_text(document: Document, changes: tuple[Change, ...]) -> tuple[Change, ...]:
    """The same changes in offsets of characters. Their new texts are only as long as the real ones."""

    character = document.character
    return tuple(Change(character(c.start), character(c.end), b" " * len(c.new.decode("utf-8"))) for c in changes)


def _ends(data: bytes) -> tuple[bool, bool, bool]:
    """Whether there are line ends CR LF, whether there are line ends LF, and whether the text ends with a line end."""
    return b"\r\n" in data, b"\n" in data.replace(b"\r\n", b""), data[-1:] in (b"\n", b"\r")
