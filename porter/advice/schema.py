"""rules/advice/*.toml read, checked and joined: once per change of the files, not per start."""

from __future__ import annotations

import re
from collections.abc import Iterable

from porter.regex import lazy
from porter.rulebook.compiled import Section
from porter.rulebook.errors import RuleError
from porter.rulebook.table import LANGUAGES, Stanza
from porter.rulebook.toml_stanzas import placed

CHAPTERS = ("precision", "performance")
GRADES = {"V": "vendor", "E": "seen", "I": "inferred"}  # the vendor says so; seen in public work; our inference
KINDS = ("heading", "row", "point")  # of what a guide says: a heading, a row of a table, a point of a list
COMPUTED = ("buffers", "conversion")  # porter/advice/computed.py fills in the snippet
WHERE = ("finding", "api", "import", "sign", "value", "model")  # keys of a condition that name places
TESTS = (
    "above",
    "below",
    "is",
    "not",
    "says",
    "odd",
    "beyond",
    "with",
    "without",
)  # of the values that a condition names
_ANSWER = lazy(r"(?:advice|env|step|command|diagnose):[\w-]+|PRT\d{3}")

# stanza -> (required keys, other keys)
STANZAS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "source": (("name", "title"), ("reference",)),
    "value": (("name", "key"), ("needs",)),
    "argument": (("call", "keyword", "value"), ("position", "item", "default")),
    "sign": (("name",), ("pattern", "words", "strings")),  # without a pattern it is one that observe.py looks for
    "model": (("name", "when"), ("unless",)),
    "advice": (
        ("id", "chapter", "priority", "title", "text", "when", "evidence", "grade"),
        ("unless", "soc", "snippet", "computed", "see", "often", "worth"),
    ),
    "guide": (("name", "title", "headings", "rows"), ("reference",)),
    "entry": (("guide", "kind", "text"), ("answer", "none")),
}
_TEXTS = ("title", "text", "none")


def build(files: Iterable[tuple[str, bytes]]) -> dict[str, Section]:
    """`{"names": what is looked for in the files, "advice": ..., "index": ...}`, of (name, bytes) pairs."""
    stanzas: dict[str, list[Stanza]] = {kind: [] for kind in STANZAS}
    for name, data in files:
        for kind, where, stanza in placed(name, data, STANZAS):
            _check(kind, where, stanza)
            stanzas[kind].append(stanza | {"where": where})
    _names_once(stanzas)
    known = {kind: {s["name"] for s in stanzas[kind]} for kind in ("source", "value", "sign", "model", "guide")}
    for kind in ("model", "advice"):
        for stanza in stanzas[kind]:
            for condition in (*stanza["when"], *stanza.get("unless", ())):
                _condition(condition, stanza["where"], known)
            for more in stanza.get("worth", ()):
                if type(more.get("adds")) is not int:
                    raise RuleError(f"{stanza['where']}: 'worth' without 'adds', a number")
                _condition({k: v for k, v in more.items() if k != "adds"}, stanza["where"], known)
    for stanza in stanzas["advice"]:
        _all_known(stanza["evidence"], known["source"], stanza["where"], "evidence")
    for stanza in stanzas["argument"]:
        _all_known([stanza["value"]], known["value"], stanza["where"], "value")
    for stanza in stanzas["entry"]:
        _all_known([stanza["guide"]], known["guide"], stanza["where"], "guide")
    plain = {kind: [{k: v for k, v in s.items() if k != "where"} for s in rows] for kind, rows in stanzas.items()}
    return {
        "names": _names(plain),
        "advice": {kind: plain[kind] for kind in ("source", "model", "advice")},
        "index": {kind: plain[kind] for kind in ("guide", "entry")},
    }


def _check(kind: str, where: str, stanza: Stanza) -> None:
    required, more = STANZAS[kind]
    for key in required:
        if key not in stanza:
            raise RuleError(f"{where}: {key!r} is missing")
    for key, value in stanza.items():
        if key not in required + more:
            raise RuleError(f"{where}: unknown key {key!r}; known: {', '.join(required + more)}")
        if key in _TEXTS and any(not isinstance(value.get(lang), str) or not value[lang].strip() for lang in LANGUAGES):
            raise RuleError(f"{where}: {key} has no text in one of {', '.join(LANGUAGES)}")
        if key == "pattern":
            _pattern(value, where)
        if key == "words" and not all(re.fullmatch(r"[A-Za-z0-9_]+", word) for word in value):
            raise RuleError(f"{where}: 'words' are looked for among the words of a file: letters, digits and _")
    if kind == "sign" and ("pattern" in stanza) != ("words" in stanza):
        raise RuleError(f"{where}: 'pattern' and 'words' belong together")
    if kind == "advice":
        _one_of(stanza["chapter"], CHAPTERS, where, "chapter")
        _one_of(stanza["grade"], tuple(GRADES), where, "grade")
        _one_of(stanza.get("computed", COMPUTED[0]), COMPUTED, where, "computed")
    if kind == "entry":
        _one_of(stanza["kind"], KINDS, where, "kind")
        if ("answer" in stanza) == ("none" in stanza):
            raise RuleError(f"{where}: an entry has either 'answer' or 'none', the reason why nothing answers it")
        for answer in stanza.get("answer", ()):
            if not _ANSWER.fullmatch(answer):
                raise RuleError(f"{where}: {answer!r} is no answer like advice:ID, env:NAME, step:NAME or PRT101")


def _pattern(value: str, where: str) -> None:
    try:
        re.compile(value.encode())
    except re.error as error:
        raise RuleError(f"{where}: pattern is no regular expression: {error}") from None


def _one_of(value: object, allowed: tuple[str, ...], where: str, key: str) -> None:
    if value not in allowed:
        raise RuleError(f"{where}: {key} {value!r} is not one of {', '.join(allowed)}")


def _names_once(stanzas: dict[str, list[Stanza]]) -> None:
    for kind, key in (*((kind, "name") for kind in ("source", "value", "sign", "model", "guide")), ("advice", "id")):
        taken: set[str] = set()
        for stanza in stanzas[kind]:
            if stanza[key] in taken:
                raise RuleError(f"{stanza['where']}: the name is taken")
            taken.add(stanza[key])


def _all_known(names: Iterable[str], known: set[str], where: str, key: str) -> None:
    for name in names:
        if name not in known:
            raise RuleError(f"{where}: {key} names {name!r}, which no stanza describes")


def _condition(condition: Stanza, where: str, known: dict[str, set[str]]) -> None:
    if not any(key in condition for key in WHERE):
        raise RuleError(f"{where}: a condition names none of {', '.join(WHERE)}")
    for key, value in condition.items():
        if key not in WHERE + TESTS:
            raise RuleError(f"{where}: unknown key {key!r} in a condition; known: {', '.join(WHERE + TESTS)}")
        if key == "says":
            _pattern(value, where)
        if key in WHERE and not isinstance(value, list):
            raise RuleError(f"{where}: {key} in a condition is no list")
        if key in ("sign", "value", "model"):
            _all_known(value, known[key], where, key)
        if key in TESTS and "value" not in condition:
            raise RuleError(f"{where}: {key!r} without 'value' in a condition")
    for inner in (*condition.get("with", ()), *condition.get("without", ())):
        _condition(inner, where, known)
    if "beyond" in condition:
        _all_known([condition["beyond"]], known["value"], where, "beyond")


def _names(plain: dict[str, list[Stanza]]) -> Section:
    keys: dict[str, list[str]] = {}
    for value in plain["value"]:
        for key in value["key"]:
            keys.setdefault(key, []).append(value["name"])
    conditions = [
        condition
        for kind in ("model", "advice")
        for stanza in plain[kind]
        for key in ("when", "unless", "worth")
        for condition in stanza.get(key, ())
    ]
    return {
        "keys": {key: tuple(names) for key, names in keys.items()},
        "needs": {value["name"]: value["needs"] for value in plain["value"] if "needs" in value},
        "arguments": plain["argument"],
        "signs": [
            (sign["name"], sign["words"], "strings" in sign, sign["pattern"])
            for sign in plain["sign"]
            if "pattern" in sign
        ],
        "imports": {name for c in conditions for name in c.get("import", ())},
    }
