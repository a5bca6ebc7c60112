"""What a name of torch is on the target: catalogue, documents, limits and rules, joined.

`porter explain`, the inventory and the report ask here. The catalogue knows which names there are; that a type, a format
or a switch exists says nothing of what an NPU makes of it, and what a rule may find is not simply supported.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any

from porter.catalog.read.verdict import (
    DEPENDS,
    DEPRECATED,
    IDLE,
    LIMITED,
    MISSING,
    MOVED,
    ON_CPU,
    SILENT,
    SUPPORTED,
    UNFIT,
    UNKNOWN,
    UNVERIFIED,
    VALUE,
    Limit,
    Support,
    Verdict,
)
from porter.rulebook.table import package_row
from porter.rulebook.texts import fill

if TYPE_CHECKING:
    from porter.engine.session import Keys, RuleSet
    from porter.rulebook.texts import ApiText, Texts
    from porter.target import Target

GRAVE = ("blocker", "wrong")
LIST = 3  # types: a note that names fewer speaks of an argument or a result
_OF_CUDA = "PRT104"  # says of every name below torch.cuda what its stanza does not
_MODULE = "PRT109"  # of torch.cuda itself
_ABSENT = "absent"
_OF_VERDICT = {MISSING: "PRT701", UNKNOWN: "PRT701", ON_CPU: "PRT702"}
_OPEN = (SUPPORTED, LIMITED, SILENT, VALUE, UNVERIFIED)  # kinds that a grave rule or a limit knows better


def moved(known: Support, texts: Texts, name: str, target: Target) -> ApiText | None:
    """What becomes of a name that rules/*.toml moves: nothing, where the target lacks what it would become."""
    row = texts.api(name, target)
    if row is None or not row.to or not row.to.startswith("torch.npu.") or known.catalogue.has(row.to):
        return row
    severity, effort = texts.severity(_OF_CUDA, _ABSENT), texts.effort(_OF_CUDA, _ABSENT)
    said, values = texts.rule(_OF_CUDA).messages[_ABSENT], {"name": name, "to": row.to}
    message = {lang: fill(text, values, name) for lang, text in said.items()}
    return row._replace(
        code=_OF_CUDA, to=None, status="manual", severity=severity, effort=effort, message=message, before="", after=""
    )


def verdict(known: Support, rules: RuleSet, name: str, move: ApiText | None) -> Verdict | None:
    """None where the name is none of torch's."""
    answer = _moved(known, name, known.of(name), move)
    if answer is None:
        return None
    codes = tuple(dict.fromkeys([*_of_verdict(answer), *_codes(rules, name, move)]))
    limits = tuple(_limits(rules.texts, name))
    here = [limit for limit in limits if not limit.socs or known.soc in limit.socs]
    return replace(answer, kind=_weighed(answer, codes, here, rules), rules=codes, limits=limits)


def codes_of(rules: RuleSet, name: str) -> tuple[str, ...]:
    """Of a name that is none of torch's: the rules that look at it."""
    package = package_row(name, rules.tables.packages)
    of_import = (package[1].code,) if package and (package[1].why or package[1].status in ("replace", "none")) else ()
    return tuple(dict.fromkeys([*_codes(rules, name, None), *of_import]))


def elsewhere(load: Any, name: str, soc: str, socs: tuple[str, ...]) -> dict[str, list[str]]:
    """Rules that can speak of a name on other chips alone: code -> chips."""
    here, others = set(_codes(load(soc), name, None)), dict[str, list[str]]()
    for other in socs:
        for code in _codes(load(other), name, None) if other != soc else ():
            if code not in here:
                others.setdefault(code, []).append(other)
    return others


def worst(rules: RuleSet, code: str) -> str:
    """The gravest that a rule may say."""
    weights = {severity for severity, _ in rules.tables.rules[code]["messages"].values()}
    return next(severity for severity in ("blocker", "wrong", "slow", "note") if severity in weights)


def _moved(known: Support, name: str, answer: Verdict | None, move: ApiText | None) -> Verdict | None:
    """A stanza that moves a name elsewhere, or says that it stays or is out of date, knows more than the names alone:
    of names that torch has. A stanza is no evidence that a name exists."""
    if answer is None or move is None:
        return answer
    if not _exists(known, name):
        return replace(answer, kind=UNKNOWN)
    if answer.kind in (MISSING, SUPPORTED, MOVED) and move.to:
        return replace(answer, kind=MOVED, to=(move.to,))
    if answer.kind == MISSING and move.stays:
        return replace(answer, kind=SUPPORTED)
    if answer.kind == SUPPORTED and name.startswith("torch_npu."):
        return replace(answer, kind=DEPRECATED)
    if answer.kind == MOVED:  # a name of the same spelling, of which the stanza knows that it means something else
        return replace(answer, kind=SUPPORTED if move.stays else DEPENDS, to=())
    return answer


def _exists(known: Support, name: str) -> bool:
    """Whether some torch has it: one that this target does not go with is still what a program may be written for."""
    from porter.catalog.read.load import load, versions

    catalogues = chain((known.catalogue,), map(load, versions()))
    return any(c.has(name) or c.surface.has(name) is not False or c.surface.gone(name) for c in catalogues)


def _weighed(answer: Verdict, codes: tuple[str, ...], limits: list[Limit], rules: RuleSet) -> str:
    if answer.kind not in _OPEN:
        return answer.kind
    if any(limit.idle for limit in limits):
        return IDLE
    if any(limit.socs and not limit.argument for limit in limits):
        return UNFIT
    if any(worst(rules, code) in GRAVE for code in codes) or answer.kind == VALUE and codes:
        return DEPENDS
    return LIMITED if limits and answer.kind in (SUPPORTED, SILENT) else answer.kind


def _of_verdict(answer: Verdict) -> Iterator[str]:
    """The codes that PRT701 and its kin have for a name, by what it is."""
    if answer.kind in _OF_VERDICT and not answer.api.startswith("torch.cuda"):
        yield _OF_VERDICT[answer.kind]
    if len(answer.dtypes) >= LIST:
        yield "PRT703"


def _codes(rules: RuleSet, name: str, move: ApiText | None) -> Iterator[str]:
    if move is not None and not move.stays:
        yield move.code
    if name == "torch.cuda":
        yield _MODULE
    rows = [row for part in _parts(name) if (row := rules.tables.moves.get(part))]
    for row in rows[1:] if name in rules.tables.moves else rows:  # a member goes where its class goes
        if not row.stays:
            yield row.code
    for rule in _asking(rules.keys, name):
        for code in rule.codes_for(name):
            if code != _OF_CUDA or not rows:
                yield code


def _asking(keys: Keys, name: str) -> Iterator[Any]:
    """The rules that a key of theirs brings to a name; to a method, by its last word."""
    yield from keys.calls.get(name, ())
    yield from keys.references.get(name, ())
    for part in _parts(name) if name not in keys.references else ():
        yield from keys.prefixes.get(part, ())
    owner, _, member = name.rpartition(".")
    if owner in ("torch.Tensor", "torch.nn.Module"):
        yield from keys.methods.get(member, ())
        yield from keys.attributes.get(member, ())


def _parts(name: str) -> Iterator[str]:
    """The name, and all that it starts with, the longest first."""
    while name:
        yield name
        name = name.rpartition(".")[0]


def _limits(texts: Texts, name: str) -> Iterator[Limit]:
    for row in texts.npu.limits(name):
        yield Limit(row.get("argument", ""), tuple(row.get("soc", ())), row.get("idle", False), row["text"])
