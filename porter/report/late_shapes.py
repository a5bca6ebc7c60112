"""Shapes that a verified run met late, joined with the findings that foretell them."""

from __future__ import annotations

from porter.engine.together import further_lines
from porter.files.documents import Json
from porter.rulebook.words import both

CODES = ("PRT601", "PRT602", "PRT603", "PRT604")


def joined(document: Json, run: Json) -> Json:
    """The document with its run; findings say what was seen of them, the run which places no finding speaks of."""
    late = _late(document, run)
    explained: set[tuple[str, int]] = set()
    findings = []
    for finding in document["findings"]:
        places = late.keys() & _places(finding) if finding["code"] in CODES else set()
        if places:
            explained |= places
            most = max(operator["shapes"] for place in places for operator in late[place])
            finding = {**finding, "values": {**finding["values"], "seen": str(most)}}
        findings.append(finding)
    unexplained = [operator for place in sorted(late.keys() - explained) for operator in late[place]]
    more = [*document["more"], *([{"value": "seen", **both("rulebook", "seen")}] if explained else [])]
    return {**document, "findings": findings, "more": more, "verified": {**run, "unexplained": unexplained}}


def _late(document: Json, run: Json) -> dict[tuple[str, int], list[Json]]:
    """Operators with late shapes by the line of the original. A port has other lines, but in files without edits."""
    leg, moved = run.get("original"), set()
    if leg is None:
        leg, moved = run["ported"], {finding["path"] for finding in document["findings"] if finding["edit"]}
    # a backward pass begins with ones; its shapes follow from those of the forward pass
    gradients = {o["where"] for o in leg["operators"] if "_backward" in o["name"] or o["name"] == "aten::ones_like"}
    by_line: dict[tuple[str, int], list[Json]] = {}
    for operator in leg["operators"]:
        path, _, line = operator["where"].rpartition(":")
        if operator["late_shapes"] and path and path not in moved and operator["where"] not in gradients:
            by_line.setdefault((path, int(line)), []).append(operator)
    return by_line


def _places(finding: Json) -> set[tuple[str, int]]:
    """The lines of a finding, and those of the operators that get its shape."""
    lines = {*range(finding["line"], finding["end_line"] + 1)}
    lines |= {int(line) for line in finding["values"].get("lines", "").split(",") if line}
    return {(finding["path"], line) for line in (*lines, *further_lines(finding["values"]))}
