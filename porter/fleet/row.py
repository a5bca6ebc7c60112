"""One repository in one row: what the page of a fleet needs of its report, and no more."""

from __future__ import annotations

from typing import Any

from porter.files.documents import Json
from porter.finding import SEVERITIES
from porter.report.sanitise import line
from porter.rulebook.table import LANGUAGES

SCHEMA = 1
BY_HAND = ("kernel", "package", "other")  # of the items of the effort
MOST = 100  # obstacles of one repository, those that cost most
SHARED = "package", "api"  # kinds of obstacles that one mending takes out of the way everywhere
DONE, FAILED = "done", "failed"


def of_report(document: Json) -> Json:
    """Of what `porter analyze --output findings.json` writes."""
    summary, work, route = document["summary"], document["effort"], document["route"]
    target = document["target"]
    return {
        "schema": SCHEMA,
        "state": DONE,
        "why": None,
        "porter": document["porter"],
        "target": {key: target[key] for key in ("torch_npu", "soc", "style")},
        "commit": document["project"].get("commit", ""),
        "route": {"name": route["name"], "title": route["title"]} if route else None,
        "readiness": summary["readiness"],
        "left": {key: summary["left"][key] for key in ("stops", "slows")},
        "minutes": work["minutes"],
        "lines": summary["lines"],
        "files": summary["scanned"],
        "obstacles": _obstacles(document),
    }


def of_failure(en: str, zh: str) -> Json:
    empty: dict[str, Any] = {
        "porter": None,
        "target": None,
        "commit": "",
        "route": None,
        "readiness": None,
        "left": None,
    }
    why = {"en": line(en), "zh": line(zh)}
    rest: dict[str, Any] = {"minutes": None, "lines": 0, "files": 0, "obstacles": []}
    return {"schema": SCHEMA, "state": FAILED, "why": why, **empty, **rest}


def _obstacles(document: Json) -> list[Json]:
    """What stops the port, and only a person can take away, in more than minutes: packages and APIs by name, all else
    by its rule."""
    severity = {f["fingerprint"]: f["severity"] for f in document["findings"]}
    titles = {rule["code"]: rule["title"] for rule in document["rules"]}
    found: dict[tuple[str, str], Json] = {}
    for item in document["effort"]["items"]:
        worst = min((SEVERITIES.index(severity[mark]) for mark in item["findings"]), default=len(SEVERITIES))
        is_light = item["kind"] == "minutes" or not item["minutes"][1]
        if item["what"] not in BY_HAND or is_light or worst > SEVERITIES.index("wrong"):
            continue
        kind, name = _named(item)
        title = titles[item["code"]] if kind == "rule" else dict.fromkeys(LANGUAGES, name)
        fresh = {"kind": kind, "name": name, "title": title, "severity": worst, "minutes": [0, 0], "places": 0}
        row = found.setdefault((kind, name), fresh)
        row["severity"] = min(row["severity"], worst)
        row["minutes"] = [sum(pair) for pair in zip(row["minutes"], item["minutes"])]
        row["places"] += len(item["findings"])
    rows = sorted(found.values(), key=lambda row: (row["severity"], -row["minutes"][1], row["kind"], row["name"]))
    return [{**row, "severity": SEVERITIES[row["severity"]]} for row in rows[:MOST]]


def _named(item: Json) -> tuple[str, str]:
    subject = line(item["subject"])
    if item["what"] == "package" and subject:
        return "package", subject
    if subject.startswith(("torch.", "torchvision.", "torchaudio.")):
        return "api", subject
    return "rule", item["code"]
