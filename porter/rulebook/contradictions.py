"""What no key of a stanza can say for itself: keys that need, or exclude, each other."""

from __future__ import annotations

from collections.abc import Iterator

from porter.rulebook.table import Stanza


def contradictions(kind: str, stanza: Stanza) -> Iterator[str]:
    if kind == "rule":
        about_code = not stanza["code"].startswith("PRT0")
        if ("before" in stanza) != ("after" in stanza) or about_code and "before" not in stanza:
            yield "'before' and 'after' belong together, and every code but porter's own has both"
    if kind == "setting" and ("key" in stanza) == ("kind" in stanza):
        yield "a setting has either 'key' or 'kind'"
    if kind == "setting" and stanza.get("key", "*") == "*" and "gate" not in stanza:
        yield "a setting of any key needs a 'gate': words that every file with it holds, in lower case"
    if kind in ("api", "variable", "setting") and ("to" in stanza) != ("fix" in stanza):
        yield "'to' and 'fix' belong together: leave both out where there is no counterpart"
    if kind == "api" and len(stanza["example"]) != 1 + ("to" in stanza):
        yield "'example' is one line, and a second one where the name moves"
    if kind == "api" and stanza.get("stays") and {"to", "severity", "effort", "symptom"} & stanza.keys():
        yield "what stays is no finding: leave out 'to', 'severity', 'effort' and 'symptom'"
    if kind == "variable" and "value" in stanza and "to" not in stanza:
        yield "'value' without 'to'"
    if kind == "package" and "message" in stanza and stanza["status"] == "native":
        yield "a native package is no finding and has no 'message'"
    if kind == "package" and stanza["status"] == "plugin" and not {"message", "steps"} & stanza.keys():
        yield "a package of status plugin says in 'message' or 'steps' what to install and to do"
    if kind == "package" and "since" in stanza and stanza["status"] not in ("native", "plugin"):
        yield "'since' is the first version that runs on NPUs: only a package of status native or plugin has one"
    if kind == "package" and "beside" in stanza and "since" not in stanza:
        yield "'beside' without 'since'"
    if kind == "package" and "asks" in stanza and "since" not in stanza:
        yield "'asks' without 'since'"
    if kind == "package" and "wants" in stanza and "changed_at" not in stanza:
        yield "'wants' without 'changed_at'"
    if kind == "package" and "changed_at" in stanza and "since" not in stanza:
        yield "'changed_at' without 'since'"
    if kind == "option" and "unmet" in stanza and "met" not in stanza:
        yield "'unmet' without 'met'"
    if kind == "cause" and len({"lines", "series"} & stanza.keys()) != 1:
        yield "a cause is shown by either 'lines' or a 'series'"
    if kind == "cause" and ("lines" in stanza) != ("example" in stanza):
        yield "'lines' and 'example' belong together"
    if kind == "sink" and not ("call" in stanza or "method" in stanza):
        yield "a sink needs 'call' or 'method'"
    if kind == "sink" and not ("position" in stanza or "keyword" in stanza):
        yield "a sink needs 'position' or 'keyword'"
    if kind == "parameter" and not {"rename", "remove", "positional"} & stanza.keys():
        yield "a parameter needs 'rename', 'remove' or 'positional'"
