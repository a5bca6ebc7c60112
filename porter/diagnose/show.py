"""A diagnosis for people and for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from porter.files.documents import Json
from porter.files.errors import printable
from porter.logs.clean import shown
from porter.report.sanitise import as_json
from porter.rulebook.words import speaker

say = speaker("diagnose")

if TYPE_CHECKING:
    from porter.diagnose.conclude import Answer, Diagnosis, Evidence
    from porter.diagnose.repository import Place, Spot
    from porter.diagnose.traces import Error
    from porter.terminal import Line

STYLES = {"cause": "bold red", "effect": "yellow", "hint": "blue"}
SCHEMA = 1
CODES = 4  # that are named
# what Python itself raises: no operator and no library has a part in it
_PYTHON = frozenset(
    "AttributeError FileNotFoundError IndexError KeyError NameError SyntaxError TypeError ValueError".split()
)


def lines(diagnosis: Diagnosis, name: str, root: str, prefix: str, lang: str) -> list[Line]:
    log = diagnosis.log
    name = say("stdin", lang) if name == "-" else printable(name)
    key = ("head.npu" if log.npu else "head") + (".one" if log.lines == 1 else "")
    rows: list[Line] = [[(say(key, lang, name=name, lines=log.lines), "dim")]]
    if diagnosis.repository:
        places = len(diagnosis.repository.places)
        rows.append([(say("joined", lang, n=places, root=printable(root)), "dim")])
    if not any(answer.kind == "cause" for answer in diagnosis.answers):
        rows += _unknown(diagnosis, prefix, lang)
    for number, answer in enumerate(diagnosis.answers):
        rows += _answer(answer, number, prefix, lang)
    if diagnosis.errors and diagnosis.known:
        rows += [[], [(say("rest", lang), "bold yellow")]]
        for error in diagnosis.errors:
            rows += _error(error, diagnosis.spots[error.line], _places(diagnosis, error), prefix, lang)
    return rows


def document(diagnosis: Diagnosis, name: str, version: str, lang: str) -> str:
    log = diagnosis.log
    errors = [
        {
            "line": error.line,
            "text": shown(error.text),
            "count": error.count,
            "frames": [_spot(spot) for spot in diagnosis.spots[error.line]],
            "places": [place._asdict() for place in _places(diagnosis, error)],
        }
        for error in diagnosis.errors
    ]
    last_error = {"line": log.last_error[0], "text": shown(log.last_error[1])} if log.last_error else None
    value = {
        "schema": SCHEMA,
        "porter": version,
        "language": lang,
        "log": {"name": name, "lines": log.lines, "bytes": log.size, "npu": log.npu},
        "known": diagnosis.known,
        "causes": [_document(answer, lang) for answer in diagnosis.answers],
        "unexplained": errors,
        "last": last_error,
        "next": [] if diagnosis.known else _next(diagnosis, lang),
    }
    return as_json(value)


def _answer(answer: Answer, number: int, prefix: str, lang: str) -> list[Line]:
    kind = "cause.more" if answer.kind == "cause" and number else answer.kind
    rows: list[Line] = [[], [(say(kind, lang), STYLES[answer.kind]), (answer.title[lang], "bold")]]
    rows += [_labelled("log", _evidence_text(evidence, lang), lang, "dim") for evidence in answer.evidence]
    if answer.spots:
        spot = answer.spots[-1]
        place = f"{printable(prefix + spot.path)}:{spot.line}"
        rows.append(_labelled("code", say("frame" if spot.sure else "frame.unsure", lang, place=place), lang))
    rows += [_place_line(place, prefix, lang) for place in answer.places]
    shown_of = sum(place.code in answer.codes for place in answer.places)
    if answer.finding_count > shown_of:
        codes = ",".join(answer.occurring)
        rows.append(_labelled("code", say("more", lang, n=answer.finding_count - shown_of, codes=codes), lang, "dim"))
    rows.append(_labelled("why", answer.why[lang], lang))
    cure = answer.cure[lang] if answer.cure else say("cure.rule", lang, code=answer.codes[0])
    rows.append(_labelled("cure", cure, lang))
    if named := _named(answer):
        rows.append(_labelled("explain", "; ".join(f"porter explain {code}" for code in named), lang, "dim"))
    return rows


def _named(answer: Answer) -> list[str]:
    """What `porter explain` is asked for: the package, then codes with findings, then the other codes."""
    codes = list(dict.fromkeys(place.code for place in answer.places))
    package = [answer.package] if answer.package else []
    return list(dict.fromkeys([*package, *codes, *answer.occurring, *answer.codes]))[:CODES]


def _labelled(key: str, text: str, lang: str, style: str = "") -> Line:
    from porter.terminal import columns

    label = say(key, lang)
    return [(f"  {label}{' ' * max(1, 6 - columns(label))}", "dim"), (text, style)]


def _evidence_text(evidence: Evidence, lang: str) -> str:
    values = {"line": evidence.line, "n": evidence.count, "text": printable(evidence.text)}
    text = say("evidence.times" if evidence.count > 1 else "evidence", lang, **values)
    return text + (say("ranks", lang, ranks=_ranks(evidence.ranks)) if len(evidence.ranks) > 1 else "")


def _ranks(ranks: tuple[int, ...]) -> str:
    """0-7, 12"""
    runs: list[list[int]] = []
    for rank in ranks:
        if runs and rank == runs[-1][-1] + 1:
            runs[-1].append(rank)
        else:
            runs.append([rank])
    named = [str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs]
    return ", ".join(named[:8]) + (", ..." if len(named) > 8 else "")


def _unknown(diagnosis: Diagnosis, prefix: str, lang: str) -> list[Line]:
    log = diagnosis.log
    effects = any(answer.kind == "effect" for answer in diagnosis.answers)
    if not diagnosis.errors and not log.last_error and not effects:
        return [] if diagnosis.answers else [[], [(say("quiet", lang), "bold")]]
    key = "unknown" if not effects else "unknown.first" if diagnosis.errors else "unknown.effect"
    rows: list[Line] = [[], [(say(key, lang), "bold yellow")]]
    for error in diagnosis.errors:
        rows += _error(error, diagnosis.spots[error.line], _places(diagnosis, error), prefix, lang)
    if not diagnosis.errors and log.last_error:
        number, text = log.last_error
        rows.append([(f"  {say('error', lang, line=number, text=printable(shown(text)))}", "")])
    rows += [[], [(say("next", lang), "bold")]]
    return rows + [[(f"  {text}", "")] for text in _next(diagnosis, lang)]


def _places(diagnosis: Diagnosis, error: Error) -> list[Place]:
    spots = diagnosis.spots[error.line]
    return diagnosis.repository.at(spots)[:3] if diagnosis.repository else []


def _error(error: Error, spots: list[Spot], places: list[Place], prefix: str, lang: str) -> list[Line]:
    rows: list[Line] = [[(f"  {say('error', lang, line=error.line, text=printable(shown(error.text)))}", "")]]
    if spots:
        place = f"{printable(prefix + spots[-1].path)}:{spots[-1].line}"
        rows.append([(f"  {say('error.at', lang, place=place)}", "")])
    return rows + [_place_line(place, prefix, lang) for place in places]


def _place_line(place: Place, prefix: str, lang: str) -> Line:
    where = f"{printable(prefix + place.path)}:{place.line}"
    return _labelled("code", f"{where}: {place.code} {printable(place.message)}", lang)


def _next(diagnosis: Diagnosis, lang: str) -> list[str]:
    log = diagnosis.log
    if not diagnosis.errors and not log.last_error and not diagnosis.answers:
        return []
    keys = []
    if len(log.tracebacks.errors) > 1 or any(error.rank is not None for error in log.tracebacks.errors):
        keys.append("next.first")
    python = diagnosis.errors and all(error.kind in _PYTHON for error in diagnosis.errors)
    if not log.npu:
        keys.append("next.not-npu")
    elif not python:
        keys += ["next.blocking", "next.plog", "next.doctor"]
    if diagnosis.repository is None and log.tracebacks.errors:
        keys.append("next.repo")
    return [say(key, lang) for key in keys]


def _document(answer: Answer, lang: str) -> Json:
    return {
        "name": answer.name,
        "kind": answer.kind,
        "title": answer.title[lang],
        "why": answer.why[lang],
        "cure": answer.cure[lang] if answer.cure else say("cure.rule", lang, code=answer.codes[0]),
        "evidence": [
            {"line": e.line, "text": e.text, "count": e.count, "ranks": list(e.ranks)} for e in answer.evidence
        ],
        "codes": list(answer.codes),
        "package": answer.package or None,
        "frames": [_spot(spot) for spot in answer.spots],
        "places": [place._asdict() for place in answer.places],
        "findings": answer.finding_count,
        "reference": answer.reference or None,
    }


def _spot(spot: Spot) -> Json:
    return {"path": spot.path, "line": spot.line, "sure": spot.sure}
