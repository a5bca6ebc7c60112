"""Two reports of one repository: what got fixed, what is new, what is left."""

from __future__ import annotations

from porter.files.documents import Json
from porter.report.page import is_open
from porter.report.sanitise import as_json
from porter.rulebook.words import speaker

say = speaker("report")


def compare(before: Json, after: Json) -> Json:
    """Findings by fingerprint: one whose line only moved is the same."""
    old = {f["fingerprint"]: f for f in before["findings"] if is_open(f)}
    new = {f["fingerprint"]: f for f in after["findings"] if is_open(f)}
    return {
        "schema": 1,
        "readiness": [before["summary"]["readiness"], after["summary"]["readiness"]],
        "fixed": [f for mark, f in old.items() if mark not in new],
        "new": [f for mark, f in new.items() if mark not in old],
        "left": sum(mark in old for mark in new),
    }


def render(difference: Json, lang: str, name: str) -> str:
    if name == "json":
        return as_json(difference)
    from porter.report.sanitise import line

    ready = [f"{r['auto']}/{r['places']}" for r in difference["readiness"]]
    rows = [say("compare", lang, fixed=len(difference["fixed"]), new=len(difference["new"]), left=difference["left"])]
    rows.append(say("compare.ready", lang, before=ready[0], after=ready[1]))
    for key in ("new", "fixed"):
        if difference[key]:
            rows += ["", say(f"compare.{key}", lang)]
        for f in difference[key]:
            place = f"{line(f['path'])}:{f['line']}:{f['column']}"
            rows.append(f"  {place}  {f['code']}  {say(f['severity'], lang)}  {line(f['message'])}")
    return "".join(f"{row}\n" for row in rows)
