"""The report for programs. schema.json beside this file says what each field means; SCHEMA moves when one does."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

from porter.finding import Finding

if TYPE_CHECKING:
    from porter.report.model import Report

SCHEMA = 1


def render(report: Report) -> str:
    return json.dumps(document(report), ensure_ascii=False, indent=2) + "\n"


def document(report: Report) -> dict:
    auto, places = report.readiness
    target = report.target
    return {
        "schema": SCHEMA,
        "porter": report.version,
        "language": report.lang,
        "target": {
            "torch_npu": target.torch_npu,
            "soc": target.soc,
            "style": target.style,
            "origin": target.origin,
        },
        "summary": {
            "scanned": report.scanned,
            "parsed": report.parsed,
            "with_findings": len(report.by_file),
            "lines": sum(file.lines for file in report.files),
            "findings": report.table,
            "codes": dict(sorted(Counter(f.code for f in report.open).items())),
            "suppressed": len(report.suppressed),
            "baseline": len(report.old),
            "readiness": {"auto": auto, "places": places},
        },
        "files": [
            {"path": file.path, "lines": file.lines, "parsed": file.parsed, "findings": len(file.findings)}
            for file in report.files
        ],
        "left_out": list(report.left_out),
        "apis": [{"name": name, "count": count, "files": files} for name, count, files in report.apis],
        "findings": [_finding(report, finding) for finding in report.findings],
    }


def _finding(report: Report, finding: Finding) -> dict:
    rule = report.texts.rule(finding.code)
    return {
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
        "why": finding.why,
        "values": dict(finding.values),
        "message": report.message(finding),
        "symptom": report.texts.symptom(finding),
        "reference": rule.reference or None,
        "suppressed": finding.suppressed,
        "baseline": finding in report.known,
    }
