"""SARIF 2.1.0, for code scanning: rules with help, fixes, suppressions, fingerprints that survive a moved line."""

from __future__ import annotations

import os
from collections.abc import Iterator
from urllib.parse import quote

from porter.engine.together import further_places
from porter.files.documents import Json
from porter.finding import SEVERITIES
from porter.report.sanitise import as_json, line

MOST = 5000  # results; more are refused or dropped where such files go, so the least important are left out here
LEVELS = {"blocker": "error", "wrong": "error", "slow": "warning", "note": "note"}
RANKS = {"blocker": 90.0, "wrong": 70.0, "slow": 40.0, "note": 10.0}
HELP = {"en": ("At run time", "Before", "After", "By hand"), "zh": ("运行时表现", "迁移前", "迁移后", "手工迁移")}
SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def render(document: Json) -> str:
    lang = document["language"]
    findings = ranked(document["findings"])
    index = {rule["code"]: n for n, rule in enumerate(document["rules"])}
    invocation: Json = {"executionSuccessful": True}
    if len(findings) > MOST:
        text = {
            "en": f"{len(findings) - MOST} of {len(findings)} findings are left out, the least severe ones.",
            "zh": f"共 {len(findings)} 条，略去最次要的 {len(findings) - MOST} 条。",
        }
        invocation["toolExecutionNotifications"] = [{"level": "warning", "message": {"text": text[lang]}}]
    driver = {
        "name": "porter",
        "semanticVersion": document["porter"],
        "rules": [_rule(rule, lang) for rule in document["rules"]],
    }
    run = {
        "tool": {"driver": driver},
        "language": {"en": "en-US", "zh": "zh-CN"}[lang],
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {"ROOT": {"description": {"text": "The root of the project."}}},
        "invocations": [invocation],
        "results": [_result(f, index) for f in findings[:MOST]],
        "properties": {"target": document["target"], "summary": document["summary"]},
    }
    return as_json({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1)


def ranked(findings: list[Json]) -> list[Json]:
    """The most important first: open before hidden, worst first, what a person has to do before what porter does."""
    order = ("manual", "review", "auto")
    return sorted(
        findings,
        key=lambda f: (
            f["suppressed"] is not None or f["baseline"],
            SEVERITIES.index(f["severity"]),
            order.index(f["status"]),
        ),
    )


def _rule(rule: Json, lang: str) -> Json:
    descriptor = {
        "id": rule["code"],
        "name": "".join(word.capitalize() for word in rule["slug"].split("-")),
        "shortDescription": {"text": rule["title"][lang]},
        "fullDescription": {"text": rule["explain"][lang]},
        "help": {"text": rule["explain"][lang], "markdown": _help(rule, lang)},
        "defaultConfiguration": {"level": LEVELS[rule["severity"]], "rank": RANKS[rule["severity"]]},
        "properties": {"tags": ["ascend-npu", f"porter/{rule['severity']}"], "precision": "high"},
    }
    return {**descriptor, "helpUri": rule["reference"]} if rule["reference"] else descriptor


def _help(rule: Json, lang: str) -> str:
    parts = [rule["explain"][lang]]
    after = rule["after"] if rule["after"] != rule["before"] else ""
    texts = (rule["symptom"], rule["before"], after, rule["by_hand"])
    for word, text, kind in zip(HELP[lang], texts, ("text", "python", "python", "python")):
        if text:
            parts.append(f"**{word}**\n\n{_fenced(text, kind)}")
    return "\n\n".join(parts)


def _fenced(text: str, kind: str) -> str:
    fence = "```"
    while fence in text:
        fence += "`"
    body = text.strip("\n")
    return f"{fence}{kind}\n{body}\n{fence}"


def _result(f: Json, index: dict[str, int]) -> Json:
    region = _start(f)
    if (f["end_line"], f["end_column"]) > (f["line"], f["column"]):
        region |= _end(f)
    where = {"artifactLocation": _file(f["path"]), "region": region}
    result = {
        "ruleId": f["code"],
        "ruleIndex": index[f["code"]],
        "level": LEVELS[f["severity"]],
        "rank": RANKS[f["severity"]],
        "message": {"text": "\n".join(filter(None, (f["message"], f.get("details"))))},
        "locations": [{"physicalLocation": where}],
        "partialFingerprints": {"porter/v1": f["fingerprint"]},
        "properties": {key: f[key] for key in ("severity", "status", "effort", "symptom")},
    }
    if more := [*_further(f)]:
        result["relatedLocations"] = more
    if f["edit"] and f["suppressed"] is None:
        result["fixes"] = [_fix(f)]
    if f["suppressed"] is not None:
        result["suppressions"] = [{"kind": "inSource", "justification": line(f["suppressed"])}]
    elif f["baseline"]:
        result |= {"suppressions": [{"kind": "external", "justification": "baseline"}], "baselineState": "unchanged"}
    return result


def _further(f: Json) -> Iterator[Json]:
    """The other places of its cause, in its file and in others."""
    for path, number in further_places(f["path"], f["values"]):
        yield {"physicalLocation": {"artifactLocation": _file(path), "region": {"startLine": number}}}


def _fix(f: Json) -> Json:
    replacements = [{"deletedRegion": _start(e) | _end(e), "insertedContent": {"text": e["text"]}} for e in f["edit"]]
    return {
        "description": {"text": f["message"]},
        "artifactChanges": [{"artifactLocation": _file(f["path"]), "replacements": replacements}],
    }


def _start(place: Json) -> Json:
    return {"startLine": place["line"], "startColumn": place["column"]}


def _end(place: Json) -> Json:
    return {"endLine": place["end_line"], "endColumn": place["end_column"]}


def _file(path: str) -> Json:
    return {"uri": quote(os.fsencode(path)), "uriBaseId": "ROOT"}
