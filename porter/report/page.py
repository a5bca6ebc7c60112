"""Everything the HTML page shows, computed from the report's document: numbers, lists, and the data of its script."""

from __future__ import annotations

import json
import shlex
from collections import Counter

from porter.files.documents import Json
from porter.finding import EFFORTS, SEVERITIES, STATUSES
from porter.report import progress as port
from porter.report.by_file import files, launchers
from porter.report.excerpt import Excerpts, Row
from porter.report.findings import DEPENDENT, REFUSED
from porter.report.links import Links
from porter.report.numbers import count_read
from porter.report.progress import is_in_the_way, places_of
from porter.report.sanitise import line, shown
from porter.report.static import paper
from porter.report.work import sentence
from porter.rulebook.table import LANGUAGES
from porter.rulebook.words import both, speaker, words

phrase = speaker("page")

STATES = (*STATUSES, "optional")
VARIABLES = ("PRT801", "PRT802", "PRT803")
TOP = 6  # rows of a list on the first screen
NAMES = 12  # of what is used of one package
SHORT = 12  # digits of a commit
FIRST = 30  # rows of a long table before it asks
ON_PAPER = 5  # rows of the table of efforts that two printed pages have room for: print.css hides the others


def state(finding: Json) -> str:
    return "optional" if finding.get("optional") else finding["status"]


def is_open(finding: Json) -> bool:
    return finding["suppressed"] is None and not finding["baseline"]


def context(document: Json, links: Links) -> Json:
    """By key, what the templates show: `d` is the document itself, the rest is computed from it."""
    findings = document["findings"]
    due = [f for f in findings if is_open(f) and not f.get("optional")]
    rules = {rule["code"]: rule for rule in document["rules"]}
    excerpts = Excerpts(document["sources"])
    rows = [excerpts.rows(f) for f in findings]
    return {
        "d": document,
        "source_url": shlex.quote(links.asked) if links.asked else "",
        "rules": rules,
        "headline": {lang: headline(document, lang) for lang in LANGUAGES},
        "readiness": readiness(document),
        "progress": progress(document),
        "left": left(document),
        "numbers": count_read(due),
        "effort": effort(document, rules),
        "refused": [f for f in findings if f["code"] in REFUSED],
        "files": files(document, due),
        "by_rule": by_rule(findings),
        "variables": variables(findings),
        "launchers": launchers(document, due),
        "paper": paper(document, rows, excerpts, links),
        "known_apis": sum("code" in api for api in document["apis"]),
        "data": embedded(document, rows, excerpts, rules, links),
        "first": FIRST,
        "on_paper": ON_PAPER,
        "names": NAMES,
        "verified": _verified(document.get("verified")),
    }


def project(document: Json) -> Json:
    """What the head of a report says of the project: both are empty where an older report is silent."""
    about = document.get("project", {})
    return {"name": line(about.get("name", "")), "commit": line(about.get("commit", ""))[:SHORT]}


def _verified(run: Json | None) -> Json | None:
    if run is None:
        return None
    from porter.report.verified import chapter

    return chapter(run)


def headline(document: Json, lang: str) -> str:
    auto, places = document["summary"]["readiness"]["auto"], document["summary"]["readiness"]["places"]
    unseen = [f for f in document["findings"] if f["code"] in REFUSED and f["suppressed"] is None]
    files = len({f["path"] for f in unseen if f["severity"] in DEPENDENT})
    counts = {"auto": auto, "places": places, "left": places - auto, "files": files}
    values = {key: f"{count:,}" for key, count in counts.items()}
    made = document.get("progress")
    if made and made["resolved"] and not files:
        counted = {key: f"{made[key]:,}" for key in ("resolved", "initial")}
        key = "head.done" if made["resolved"] == made["initial"] else "head.resolved"
        return phrase(key, lang, **counted, left=f"{made['initial'] - made['resolved']:,}")
    if not document["files"]:
        key = "head.empty"
    elif not places:
        key = "head.nothing" if not files else "head.unseen" if files < len(document["files"]) else "head.unread"
    elif document["route"]["head"]:
        text: str = document["route"]["head"][lang]
        return text.format_map(values)
    else:
        key = "head.all" if auto == places else "head.part" if auto else "head.none"
    return phrase(key, lang, **values)


def readiness(document: Json) -> Json:
    """The same places that the summary counts, by status."""
    auto, places = document["summary"]["readiness"]["auto"], document["summary"]["readiness"]["places"]
    review = sum(places_of(f) for f in document["findings"] if f["status"] == "review" and is_in_the_way(f))
    return {
        "auto": auto,
        "review": review,
        "manual": max(places - auto - review, 0),
        "places": places,
        "percent": 100 * auto // places if places else None,
    }


def progress(document: Json) -> Json | None:
    """How far the port is, where the document knows that: older ones are silent."""
    made = document.get("progress")
    if not made:
        return None
    by_mark = {f["fingerprint"]: f for f in document["findings"]}
    added = [by_mark[mark] for mark in made["added"] if mark in by_mark]
    return {**made, "added": added, "sentence": {lang: port.sentence(made, lang) for lang in LANGUAGES}}


def left(document: Json) -> list[Json]:
    """For each severity that stands in the way: how many places need a person, and what for, cause by cause."""
    by_mark = {f["fingerprint"]: f for f in document["findings"]}
    listed = ([by_mark[mark] for mark in cause["findings"] if mark in by_mark] for cause in document.get("causes", ()))
    causes = list(filter(None, listed))
    kinds = []
    for severity in ("blocker", "wrong", "slow"):
        found = [places for places in causes if places[0]["severity"] == severity]
        kinds.append({
            "severity": severity,
            "rows": [{"lead": places[0], "more": sum(map(places_of, places)) - 1} for places in found[:TOP]],
            "more": len(found[TOP:]),
        })  # fmt: skip
    return kinds


def effort(document: Json, rules: dict[str, Json]) -> Json | None:
    """The table by cause, each row with where it leads; None of a report that an earlier porter wrote."""
    if (work := document.get("effort")) is None:
        return None
    titles = {row["name"]: row["title"] for row in work["assumptions"]}
    rows = []
    for item in work["items"]:
        named, kind = item["what"] in ("kernel", "package") and item["subject"], titles[item["kind"]]
        of_rule = item["code"] and item["kind"] != "automatic"
        rows.append({
            **item,
            "kind": kind,
            "title": None if named else rules[item["code"]]["title"] if of_rule else kind,
            "code": item["code"] if of_rule else None,
            "places": len(item["findings"]),
            "link": _leads_to(item),
        })  # fmt: skip
    whats = [item["what"] for item in work["items"] if item["minutes"][1]]
    least, most = (f"{n:g}" for n in work["days"])
    return {
        **work,
        "rows": rows,
        "span": most if least in (most, "0") else f"{least}–{most}",
        "sentence": {lang: sentence(work["minutes"], work["aside"]["minutes"], whats, lang) for lang in LANGUAGES},
    }


def _leads_to(item: Json) -> str:
    if item["kind"] == "automatic":
        return "#findings?status=auto"
    if item["kind"] == "review":
        return f"#findings?status=review&code={item['code']}"
    return f"#f-{item['findings'][0]}" if item["findings"] else ""


def variables(findings: list[Json]) -> list[Json]:
    """Environment variables that nothing reads on NPUs, or not under this name: most places first."""
    groups: dict[str, list[Json]] = {}
    for f in findings:
        if is_open(f) and f["code"] in VARIABLES:
            groups.setdefault(f["values"]["old"], []).append(f)
    rows = [
        {
            "name": name,
            "count": len(group),
            "files": len({f["path"] for f in group}),
            "to": group[0]["values"].get("new") or None,
            "finding": group[0],
            **{status: sum(f["status"] == status for f in group) for status in STATUSES},
        }
        for name, group in groups.items()
    ]
    return sorted(rows, key=lambda row: (-row["count"], row["name"]))


def by_rule(findings: list[Json]) -> list[Json]:
    """For each code, how many findings have each state, and its worst severity; the worst codes first.

    Suppressed findings and those of the baseline are counted as `hidden` alone.
    """
    counts: dict[str, Counter[str]] = {}
    for f in findings:
        counter = counts.setdefault(f["code"], Counter())
        counter[state(f) if is_open(f) else "hidden"] += 1
        counter[f["severity"]] += is_open(f)
    rows = [
        {
            "code": code,
            **{k: c[k] for k in (*STATES, "hidden")},
            "total": sum(c[k] for k in STATES),
            "worst": next((s for s in SEVERITIES if c[s]), "note"),
        }
        for code, c in counts.items()
    ]
    return sorted(rows, key=lambda row: (SEVERITIES.index(row["worst"]), row["code"]))


def embedded(document: Json, rows: list[list[Row]], excerpts: Excerpts, rules: dict[str, Json], links: Links) -> str:
    """JSON that no markup in it can end, small enough for 20,000 findings."""
    findings = document["findings"]
    paths = sorted({f["path"] for f in findings})
    index = {path: n for n, path in enumerate(paths)}
    codes = list(rules)
    whys = [(code, why) for code in codes for why in rules[code]["messages"]]
    which = {pair: n for n, pair in enumerate(whys)}
    texts = []
    for code, why in whys:
        message = rules[code]["messages"][why]
        details = [shown(message.get("details", {}).get(lang, "")) for lang in LANGUAGES]
        texts.append([codes.index(code), *(shown(message[key]) for key in ("en", "zh", "symptom")), why, *details])
    packed = []
    pooled: dict[tuple[tuple[str, str], ...], int] = {}  # values that several findings have, once
    # what needs a person comes before what porter does by itself
    for f, excerpt in sorted(zip(findings, rows), key=lambda pair: state(pair[0]) in ("auto", "optional")):
        values = tuple((key, line(value)) for key, value in f["values"].items())
        which_values = pooled.setdefault(values, len(pooled))
        hidden = 2 if f["suppressed"] is not None else 1 if f["baseline"] else 0
        packed.append([
            f["fingerprint"], index[f["path"]], f["line"], f["column"], which[f["code"], f["why"]],
            SEVERITIES.index(f["severity"]), STATES.index(state(f)), EFFORTS.index(f["effort"]), which_values, hidden, [row if any(row[3:]) else row[:3] for row in excerpt],
        ])  # fmt: skip
    data = {
        "paths": [line(path) for path in paths],
        "links": [links.of_file(path) for path in paths] if links.lead else [],
        "codes": codes,
        "whys": texts,
        "more": [[row["value"], shown(row["en"]), shown(row["zh"])] for row in document["more"]],
        "pool": excerpts.pool,
        "values": [dict(values) for values in pooled],
        "findings": packed,
        "severities": SEVERITIES,
        "states": STATES,
        "efforts": EFFORTS,
        "title": _pair("title"),
        "project": project(document)["name"],
        "words": {
            key: _pair(key)
            for key in words("page", "en")
            if key.startswith(("js.", "family.")) or key in (*SEVERITIES, *STATES, *EFFORTS, "suppressed")
        },
    }
    return unmarked(data)


def unmarked(data: Json) -> str:
    """JSON that no markup in it can end."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return text.translate({ord(c): f"\\u{ord(c):04x}" for c in "&<>\u2028\u2029"})


def _pair(key: str) -> list[str]:
    return [*both("page", key).values()]
