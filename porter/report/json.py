"""The report for programs, and what every other format is made from. schema.json beside this file says what each
field means; SCHEMA moves when one does."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from porter.files.documents import Json
from porter.finding import FileResult, Finding
from porter.report import progress
from porter.report.effort import NOTHING, Effort, days
from porter.report.numbers import count
from porter.report.sanitise import as_json
from porter.report.support import support, verdict_document
from porter.rulebook.effort import Range
from porter.rulebook.table import LANGUAGES
from porter.rulebook.words import both, words

if TYPE_CHECKING:
    from porter.report.model import Api, Report

SCHEMA = 1
RULE = "code slug severity effort title explain symptom before after by_hand".split()


def render(document: Json) -> str:
    return as_json(document)


def document(report: Report) -> Json:
    from porter.report.advice import advice
    from porter.report.inventory import environment, left_alone, packages
    from porter.report.route import plan, route
    from porter.run.baseline import fingerprints

    findings, scan = report.findings, report.scan
    auto, places = findings.readiness
    target = report.target
    edits, sources = _sources(report)
    marks = fingerprints(report.findings.all, scan.bytes)
    way = route(report)
    work, numbers = Effort(report), count(findings.due)
    return {
        "schema": SCHEMA,
        "porter": report.version,
        "language": report.lang,
        "project": {key: value for key, value in report.scan.project._asdict().items() if value},
        "target": {
            "torch_npu": target.torch_npu,
            "soc": target.soc,
            "style": target.style,
            "origin": target.origin,
        },
        "summary": {
            "scanned": len(scan.files),
            "parsed": scan.parsed,
            "with_findings": len(findings.by_file),
            "lines": sum(file.lines for file in scan.files),
            "findings": findings.table,
            "left": {**numbers.left, "aside": numbers.aside},
            "edits": {key: getattr(numbers, key) for key in ("automatic", "review", "files")},
            "efforts": findings.efforts,
            "codes": dict(sorted(Counter(f.code for f in findings.open).items())),
            "suppressed": len(findings.suppressed),
            "baseline": len(findings.old),
            "optional": len(findings.open) - len(findings.due),
            "readiness": {"auto": auto, "places": places},
        },
        "route": way or None,
        "progress": made.document if (made := progress.of_report(report)) else None,
        "plan": plan(report, way),
        "advice": advice(report),
        "files": [_file(report, file) for file in scan.files],
        "left_out": list(scan.left_out),
        "support": support(report),
        "apis": [_api(row) for row in report.apis],
        "packages": packages(report),
        "entries": list(report.gathered.entries),
        "environment": environment(report),
        "left_alone": left_alone(report),
        "switched_off": sorted(report.session.quiet.everywhere),
        "rules": _rules(report),
        "more": _more(report),
        "causes": _causes(report, marks),
        "effort": _effort(work, report, marks),
        "findings": [_finding(report, f, marks[f], edits.get(f, []), work.of.get(f, NOTHING)) for f in findings.all],
        "sources": sources,
    }


def _file(report: Report, file: FileResult) -> Json:
    from porter.project.roads import leads

    row = {"path": file.path, "lines": file.lines, "parsed": file.parsed, "findings": len(file.findings)}
    data = b"" if report.scan.roads.torch or report.scan.data is None else report.scan.data(file.path) or b""
    return row if not file.parsed or leads(file.path, data, report.scan.roads) else {**row, "road": False}


def _sources(report: Report) -> tuple[dict[Finding, list[Json]], dict[str, list[Json]]]:
    """Of every finding its edit in lines and columns; of every file the lines that its findings are about."""
    from porter.report.source import Text, runs

    edits: dict[Finding, list[Json]] = {}
    sources = {}
    for file in report.scan.files:
        data = report.scan.data(file.path) if report.scan.data and file.findings else None
        if data is None:
            continue
        text = Text(data)
        file_edits = [text.edit(finding.edit) for finding in file.findings]
        edits.update(zip(file.findings, file_edits))
        sources[file.path] = runs(text, file.findings, file_edits)
    return edits, sources


def _api(row: Api) -> Json:
    known = row.move
    rule = {"code": known.code, "to": known.to, "status": known.status} if known else {}
    about = {"name": row.name, "count": row.uses, "files": row.files, "places": list(row.places), **rule}
    return {**about, "verdict": verdict_document(row.verdict) if row.verdict else None}


def _rules(report: Report) -> list[Json]:
    """The texts of every code that occurs, and of those of its messages that do, in both languages."""
    used: dict[str, set[str]] = {}
    for finding in report.findings.all:
        used.setdefault(finding.code, set()).add(finding.why)
    rules = []
    for code, keys in sorted(used.items()):
        rule = report.texts.rule(code)
        messages = {
            key: {
                **rule.messages[key],
                "details": rule.details.get(key, dict.fromkeys(LANGUAGES, "")),
                "symptom": report.texts.about(code, key, "symptom"),
            }
            for key in sorted(keys)
        }
        texts = {key: getattr(rule, key) for key in RULE}
        rules.append({**texts, "reference": rule.sources.reference, "messages": messages})
    return rules


def _more(report: Report) -> list[Json]:
    """What stands behind the message of a finding that has the value, in this order."""
    known = {key for finding in report.findings.all for key, _ in finding.values}
    return [{"value": key, **both("rulebook", key)} for key in words("rulebook", "en") if key in known]


def _causes(report: Report, marks: dict[Finding, str]) -> list[Json]:
    """What is left for a person: findings that one thought answers are one entry, worst first."""
    from porter.report.causes import causes, left

    return [
        {
            "subject": cause.subject,
            "code": cause.lead.code,
            "severity": cause.lead.severity,
            "aside": cause.is_aside,
            "findings": [marks[finding] for finding in cause.places],
        }
        for findings in left(report.findings.due).values()
        for cause in causes(findings, report.texts.subject)
    ]


def _effort(work: Effort, report: Report, marks: dict[Finding, str]) -> Json:
    texts = report.texts.named("efforts")
    return {
        "minutes": work.cost,
        "days": days(work.cost),
        "aside": {"minutes": work.aside, "days": days(work.aside)},
        "items": [
            {
                "what": item.what,
                "kind": item.kind,
                "subject": item.subject,
                "code": item.places[0].code if item.places else None,
                "minutes": item.cost,
                "aside": item.aside,
                "findings": [marks[finding] for finding in item.places],
            }
            for item in work.items
        ],
        "assumptions": [
            {"name": name, "first": first, "further": further, **{key: texts[name][key] for key in ("title", "why")}}
            for name, (first, further) in work.rates.items()
        ],
    }


def _finding(report: Report, finding: Finding, mark: str, edit: list[Json], minutes: Range) -> Json:
    rule = report.texts.rule(finding.code)
    return {
        "fingerprint": mark,
        "path": finding.path,
        "line": finding.line,
        "column": finding.column,
        "end_line": finding.end_line,
        "end_column": finding.end_column,
        "code": finding.code,
        "slug": rule.slug,
        "severity": finding.severity,
        "status": finding.status,
        "effort": finding.effort,
        "minutes": minutes,
        "edit": edit,
        "optional": finding.optional,
        "why": finding.why,
        "values": dict(finding.values),
        "message": report.message(finding),
        "details": report.texts.details(finding, report.lang),
        "symptom": report.texts.symptom(finding),
        "reference": rule.sources.reference or None,
        "suppressed": finding.suppressed,
        "baseline": finding in report.findings.known,
    }
