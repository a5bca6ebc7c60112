"""All of it as one document: what JSON shows, and what text and page are made from."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite
from typing import Any

from porter import __version__
from porter.compare.verdict import Fact
from porter.dumps.align import Pair
from porter.dumps.compared import Comparison, Result
from porter.dumps.model import FORWARD, Call
from porter.dumps.stack import is_library
from porter.dumps.states import State
from porter.files.documents import Json
from porter.files.errors import printable
from porter.rulebook.words import speaker, words

SCHEMA = 1
_FRAMES = 12
say = speaker("dumps")


def document(found: Comparison, lang: str, repository: Json | None = None) -> Json:
    """`repository`: what porter finds at the lines of the stack."""
    result = found.result
    verdict = result.verdict
    return {
        "schema": SCHEMA,
        "porter": __version__,
        "language": lang,
        "outcome": verdict.outcome,
        "reason": verdict.reason,
        "is_at_fault": verdict.is_at_fault,
        "sentence": sentence(result, lang),
        "place": _place(found, lang),
        "evidence": [{"key": fact.key, "values": _plain(fact.values), "text": _evidence(fact, lang)} for fact in verdict.evidence],
        "next": [text for key, text in words("dumps", lang).items() if key.startswith(f"next.{verdict.reason}.")],
        "stack": {
            "of": "baseline" if result.is_of_baseline else "candidate",
            "frames": [
                {"file": one.file, "line": one.line, "function": one.name, "source": one.source, "is_library": is_library(one)}
                for one in ([each for each in result.stack if not is_library(each)] or result.stack)[:_FRAMES]
            ],
        },
        "repository": repository,
        "course": [_row(state) for state in result.course],
        "aligned": {
            "pairs": result.aligned[0], "baseline": result.aligned[1], "candidate": result.aligned[2],
            "missing": result.missing, "extra": result.extra,
        },
        "floor": _number(result.floor) or None,
        "by": "tensors" if result.has_tensors else "statistics",
        "sides": [
            {"role": role, "path": name, "dump": head}
            for role, name, head in zip(("baseline", "candidate"), found.names, result.heads)
        ],
        "notes": [{"key": fact.key, "text": _note(fact, lang)} for fact in _notes(found)],
    }  # fmt: skip


def sentence(result: Result, lang: str) -> str:
    verdict = result.verdict
    values = {
        "step": result.step,
        "n": result.aligned[0],
        **dict(zip(("pairs", "one", "other"), result.aligned)),
        **verdict.values,
    }
    if verdict.pair is not None:
        values |= {"call": _named(verdict.pair.one, result.module, lang), "pass": _pass(verdict.pair, lang)}
    values["after"] = _named(verdict.after.one, "", lang) if verdict.after else say("nothing", lang)
    if "side" in values:
        values["role"] = say(str(values["side"]), lang)
    return printable(say(f"why.{verdict.reason}", lang, **values))


def _named(call: Call, module: str, lang: str) -> str:
    name = call.name
    if name.path:
        return f"{name.path} ({name.operator})" + (f" #{name.number}" if name.number else "")
    operator = f"{name.prefix}.{name.operator}.{name.number}"
    return say("call", lang, operator=operator, module=module) if module else operator


def _way(pair: Pair) -> str:
    return "forward" if pair.one.name.direction == FORWARD else "backward"


def _pass(pair: Pair, lang: str) -> str:
    return say(f"pass.{_way(pair)}", lang)


def _place(found: Comparison, lang: str) -> Json | None:
    result = found.result
    pair, verdict = result.verdict.pair, result.verdict
    if pair is None:
        return None
    same = [each.rank for each in found.results[1:] if _same(each, result)]
    where = say("where", lang, step=result.step, rank=result.rank, **{"pass": _pass(pair, lang)})
    if same:
        where += say("where.ranks", lang, ranks=", ".join(map(str, same)))
    return {
        "step": result.step,
        "rank": result.rank,
        "same_in_ranks": same,
        "pass": _way(pair),
        "module": result.module or None,
        "baseline": pair.one.text,
        "candidate": pair.other.text,
        "after": verdict.after.one.text if verdict.after else None,
        "text": where,
    }


def _same(one: Result, other: Result) -> bool:
    """Whether two ranks say the same of one call."""
    mine, theirs = (each.verdict for each in (one, other))
    return mine.reason == theirs.reason and bool(mine.pair and theirs.pair and mine.pair.name == theirs.pair.name)


def _evidence(fact: Fact, lang: str) -> str:
    values = fact.values
    if fact.key not in ("in", "out"):
        return printable(say(fact.key, lang, **values))
    if fact.key == "in" and values["size"] == 0 and values["how"] != "unknown":
        return say("in.same", lang)
    text = say(fact.key, lang, slot=values["slot"], size=_size(fact, lang), numbers=_numbers(fact, lang))
    return printable(text)


def _size(fact: Fact, lang: str) -> str:
    values: dict[str, Any] = dict(fact.values)
    one, other = values["shapes"]
    cosine = values["cosine"]
    size = shown(values["size"])
    cosine = "-" if cosine is None else f"{cosine:.6f}"
    return say(f"size.{values['how']}", lang, size=size, by=values["by"] or "Norm", cosine=cosine, one=one, other=other)


def _numbers(fact: Fact, lang: str) -> str:
    pairs = zip(fact.values["one"], fact.values["other"])  # type: ignore[call-overload]
    texts = [f"{shown(one)} / {shown(other)}" for one, other in pairs]
    return say("numbers", lang, **dict(zip(("max", "min", "mean", "norm"), texts)))


def shown(number: float | None) -> str:
    return "-" if number is None else f"{number:.4g}"


def _row(state: State) -> Json:
    worst = state.worst
    went = worst[3].size if worst else 0.0
    excess = state.excess(worst) if worst else 0.0
    return {
        "baseline": state.pair.one.text,
        "candidate": state.pair.other.text,
        "inputs": _number(state.came),
        "outputs": _number(went),
        "allowed": _number(went / excess if excess else None),
        "differs": state.differs,
    }


def _number(value: float | None) -> float | None:
    """JSON has no infinity: what has no measure is null."""
    return float(f"{value:.6g}") if value is not None and isfinite(value) else None


def _plain(values: Any) -> Any:
    if isinstance(values, float):
        return _number(values)
    if isinstance(values, list):
        return [_plain(value) for value in values]
    return {key: _plain(value) for key, value in values.items()} if hasattr(values, "items") else values


def _note(fact: Fact, lang: str) -> str:
    values = {key: value[lang] if isinstance(value, dict) else value for key, value in fact.values.items()}
    return say(fact.key, lang, **values)


def _notes(found: Comparison) -> Iterator[Fact]:
    for key, (one, other) in (("steps", found.steps), ("ranks", found.ranks)):
        alone = sorted({*one} ^ {*other})
        if alone and not len(one) == len(other) == 1:
            yield Fact(f"note.{key}", {key: ", ".join(map(str, alone))})
    if found.agreed:
        yield Fact("note.agreed", {"steps": ", ".join(map(str, found.agreed))})
    yield from found.result.notes
