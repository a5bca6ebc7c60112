"""The APIs a program uses and what each is on the target: where the facts come from, what they add up to, in words."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from porter.catalog.read.verdict import (
    KINDS,
    LIMITED,
    SEVERITY,
    Support,
    Verdict,
)
from porter.files.documents import Json
from porter.rulebook.words import speaker

say = speaker("report")

if TYPE_CHECKING:
    from porter.report.model import Report

TOLD = KINDS[: KINDS.index(LIMITED)]  # worse than "within limits": their names are listed, the others are only counted


def support(report: Report) -> Json:
    """The facts that the verdicts of the inventory rest on, and how many APIs have which."""
    counts = Counter(row.verdict.kind for row in report.apis if row.verdict)
    return {**sources(report.session.support), "verdicts": {kind: counts[kind] for kind in KINDS}}


def sources(known: Support) -> Json:
    documents, source = known.documents, known.documents.source
    return {
        "torch": known.catalogue.torch,
        "wheels": [wheel["file"] for wheel in known.catalogue.sources],
        "documents": {
            "torch": documents.torch,
            "exact": documents.exact,
            "chip": documents.column(known.soc),
            "repo": source.repo,
            "commit": source.commit,
            "tree": source.tree,
            "licence": source.licence,
        },
    }


def verdict_document(verdict: Verdict) -> Json:
    return {
        "kind": verdict.kind,
        "kernel": verdict.kernel,
        "operators": list(verdict.operators),
        "documents": verdict.status,
        "dtypes": list(verdict.dtypes),
        "may_run_on_cpu": verdict.may_run_on_cpu,
        "disagree": verdict.disagree,
        "to": list(verdict.to),
        "rules": list(verdict.rules),
        "limits": [limit._asdict() | {"socs": list(limit.socs)} for limit in verdict.limits],
    }


def summary(document: Json, lang: str) -> str:
    """`12 supported, 2 run on the CPU`: the kinds that occur, the worst first."""
    counts = document["verdicts"]
    join = "、" if lang == "zh" else ", "
    return join.join(f"{say('verdict.' + kind, lang)} {counts[kind]}" for kind in KINDS if counts[kind])


def notice(document: Json, lang: str) -> str:
    """Whose facts these are, with their licence."""
    about = document["documents"]
    values = {
        "torch": about["torch"],
        "repo": about["repo"],
        "commit": about["commit"][:12],
        "licence": about["licence"],
    }
    text = say("support.source", lang, **values, wheels=", ".join(document["wheels"]))
    if not about["exact"]:
        text += say("support.nearest", lang, torch=about["torch"], wanted=document["torch"])
    return text + ("" if about["chip"] else say("support.chip", lang))


def kind(verdict: Json, lang: str) -> str:
    return say(f"verdict.{verdict['kind']}", lang)


def severity(verdict: Json) -> str:
    return SEVERITY.get(verdict["kind"], "note")


def basis(verdict: Json, lang: str) -> list[str]:
    """What each source says of one API."""
    rows = []
    if verdict["kernel"]:
        names = ", ".join(dict.fromkeys(name.partition(".")[0] for name in verdict["operators"]))
        key = f"wheel.{verdict['kernel']}" if verdict["kernel"] != "mixed" or names else "wheel.some"
        rows.append(say(key, lang, operators=names))
    if verdict["documents"]:
        rows.append(say(f"documents.{verdict['documents']}", lang))
    if verdict["may_run_on_cpu"]:
        rows.append(say("documents.cpu", lang))
    if len(verdict["dtypes"]) > 1:  # a note that names one speaks of an argument, mostly
        rows.append(say("documents.types", lang, dtypes=", ".join(verdict["dtypes"])))
    if verdict["disagree"]:
        rows.append(say("support.disagree", lang))
    rows += [_limit(limit, lang) for limit in verdict["limits"]]
    if verdict["to"]:
        rows.append(say("support.to", lang, to=", ".join(verdict["to"])))
    return rows


def _limit(limit: Json, lang: str) -> str:
    parts = [limit["argument"], *([f"soc {', '.join(limit['socs'])}"] if limit["socs"] else [])]
    values = {"about": ", ".join(part for part in parts if part), "text": limit["text"][lang]}
    return say("support.limit" if values["about"] else "support.limit.all", lang, **values)


def folded(report: Report) -> list[tuple[str, str]]:
    """Kind and names: one line for all APIs that share a verdict, those that nobody has to read left out."""
    names: dict[str, list[str]] = {}
    for row in sorted(report.apis, key=lambda row: row.name):
        if row.verdict and row.verdict.kind in TOLD:
            names.setdefault(row.verdict.kind, []).append(row.name)
    return [(kind, ", ".join(names[kind])) for kind in TOLD if kind in names]
