"""rules/*.toml read and checked: every key, code, language and name. Once per change of the files, not per start."""

from __future__ import annotations

import re
from typing import Any

from porter.finding import EFFORTS, SEVERITIES
from porter.regex import lazy
from porter.rulebook import opening
from porter.rulebook.contradictions import contradictions
from porter.rulebook.errors import Check, Kinds, RuleError
from porter.rulebook.schema_diagnose import cause
from porter.rulebook.schema_report import kernel, kinds, pattern, setting
from porter.rulebook.schema_versions import version, versions
from porter.rulebook.table import FLAGS, LANGUAGES, STATUSES, Stanza
from porter.rulebook.toml_stanzas import stanzas

PLACEHOLDER = lazy(r"\{([a-z_]+)\}")
_CODE = lazy(r"PRT\d{3}")
_SLUG = lazy(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_DOTTED = lazy(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")


def _matches(pattern: re.Pattern[str], description: str) -> Check:
    return lambda value: None if isinstance(value, str) and pattern.fullmatch(value) else f"is not {description}"


def _one_of(*allowed: str) -> Check:
    return lambda value: None if value in allowed else f"is not one of {', '.join(allowed)}"


def _least(value: object) -> str | None:
    fits = isinstance(value, str) and re.fullmatch(r"[a-z][a-z\d-]*>=\d+(\.\d+)*", value)
    return None if fits else "must be a package and its least version, as in name>=4.51"


def _least_of_each(value: object) -> str | None:
    if not isinstance(value, list) or not value:
        return "must be a list of packages and their least versions"
    return next(filter(None, map(_least, value)), None)


def _string(value: object) -> str | None:
    return None if isinstance(value, str) and value.strip() else "is not a string with something in it"


def _text(value: object) -> str | None:
    return None if isinstance(value, str) else "is not a string"


def _boolean(value: object) -> str | None:
    return None if value.__class__ is bool else "is not true or false"


def _index(value: object) -> str | None:
    return None if type(value) is int and value >= 0 else "is not a position from 0"


def _list_of(check: Check, most: int | None = None) -> Check:
    def inner(value: object) -> str | None:
        if not isinstance(value, list) or not value:
            return "is not a list with something in it"
        if most and len(value) > most:
            return f"has more than {most} entries"
        return next((f"has the entry {item!r}, which {wrong}" for item in value if (wrong := check(item))), None)

    return inner


def _or_list(check: Check) -> Check:
    many = _list_of(check)
    return lambda value: (many if isinstance(value, list) else check)(value)


def _names(value: object) -> str | None:
    if not isinstance(value, dict):
        return "is not a table"
    return next((f"renames {k!r} to {v!r}" for k, v in value.items() if _dotted(k) or _dotted(v)), None)


def languages(value: object, other_keys: tuple[str, ...] = ()) -> str | None:
    if not isinstance(value, dict):
        return f"is not a table of {' and '.join(LANGUAGES)}"
    for lang in LANGUAGES:
        if not isinstance(value.get(lang), str) or not value[lang].strip():
            return f"has no text for {lang!r}"
    return next((f"has the unknown key {key!r}" for key in value if key not in LANGUAGES + other_keys), None)


def _message(value: Any, *other_keys: str) -> str | None:
    if wrong := languages(value, ("severity", "effort", "joined", *FLAGS, *other_keys)):
        return wrong
    for key, check in (
        ("severity", _severity),
        ("effort", _effort),
        ("joined", _string),
        *((flag, _boolean) for flag in FLAGS),
    ):
        if key in value and (wrong := check(value[key])):
            return f"has the {key} {value[key]!r}, which {wrong}"
    return other_placeholders(value)


def other_placeholders(value: dict[str, str]) -> str | None:
    first, *others = (sorted(set(PLACEHOLDER.findall(value[lang]))) for lang in LANGUAGES)
    return next((f"has other placeholders in one language: {first} and {o}" for o in others if o != first), None)


def _messages(value: object) -> str | None:
    if not isinstance(value, dict) or not value:
        return "is not a table with at least one message"
    return next((f"{key!r} {wrong}" for key, text in value.items() if (wrong := _of_rule(text))), None)


def _of_rule(value: Any) -> str | None:
    if wrong := _message(value, "symptom"):
        return wrong
    return None if isinstance(value.get("symptom", ""), str) else "has a symptom that is not a string"


def _of_row(value: Any) -> str | None:
    """Of a stanza that is about one name, whose places have these values and no others."""
    if wrong := _message(value):
        return wrong
    unknown = sorted({word for lang in LANGUAGES for word in PLACEHOLDER.findall(value[lang])} - _VALUES)
    return f"has a text with {{{unknown[0]}}}: its places know only {', '.join(sorted(_VALUES))}" if unknown else None


_VALUES = frozenset({"name", "old", "new", "to"})
_dotted = _matches(_DOTTED, "a dotted name")
_code = _matches(_CODE, "a code like PRT101")
_severity, _effort, _fix = _one_of(*SEVERITIES), _one_of(*EFFORTS), _one_of("safe", "review")
_weight = {"severity": _severity, "effort": _effort, "reference": _string, "symptom": _text}
_known = {"evidence": _string, "grade": _one_of("V", "E", "I")}  # where it is known from, and how well

_TITLES = ("match", "from", "import", "keyword", "key", "code", "kind", "name")
# kind -> (required keys, all keys)
KINDS: Kinds = {
    "rule": (
        ("code", "slug", "severity", "effort", "title", "explain", "message"),
        {
            "code": _code,
            "slug": _matches(_SLUG, "a lower-case slug"),
            "title": languages,
            "explain": languages,
            "before": _string,
            "after": _string,
            "by_hand": _string,
            "default": _one_of("on", "off"),
            "across": _one_of("program", "folder", "thought"),
            **dict.fromkeys((*FLAGS, "quotes"), _boolean),
            "gate": opening.wrong,
            "message": _messages,
            **_weight,
            **_known,
        },
    ),
    "namespace": (
        ("code", "from", "names"),
        {"code": _code, "from": _dotted, "under": _dotted, "names": _list_of(_dotted)}
        | {"severity": _severity, "effort": _effort},
    ),
    "api": (
        ("code", "match", "example"),
        {
            "code": _code,
            "match": _or_list(_dotted),
            "to": _dotted,
            "fix": _fix,
            "message": _of_row,
            "example": _list_of(_string, 2),
            "stays": _boolean,
            **_weight,
            **_known,
        },
    ),
    "sink": (
        ("kind",),
        {
            "kind": _one_of("device", "backend"),
            "call": _list_of(_dotted),
            "method": _list_of(_dotted),
            "position": _index,
            "keyword": _list_of(_dotted),
        },
    ),
    "variable": (
        ("code", "match"),
        {
            "code": _code,
            "match": _or_list(_dotted),
            "to": _dotted,
            "older": _dotted,
            "older_for": _list_of(_string),
            "value": _one_of("keep", "bytes-to-mb"),
            "takes": pattern,
            "quiet": pattern,
            "fix": _fix,
            "inventory": _boolean,
            "message": _of_row,
            **_weight,
            **_known,
        },
    ),
    "package": (
        ("code", "import", "status", "evidence"),
        {
            "code": _code,
            "import": _or_list(_dotted),
            "name": _or_list(_string),
            "status": _one_of(*STATUSES),
            "gate": _boolean,
            "anywhere": _or_list(_string),
            "module": _string,
            "on_host": _or_list(_dotted),
            "methods": _or_list(_string),
            "device": _index,
            "since": version,
            "beside": versions,
            "changed_at": version,
            "wants": _least,
            "asks": _least_of_each,
            "breaks_with": version,
            "plain_before": version,
            "mended_in": version,
            "replacement": _or_list(_string),
            "message": _of_row,
            "steps": languages,
            "evidence": _string,
            **_weight,
            **_known,
        },
    ),
    "option": (
        ("code", "keyword", "value", "message"),
        {
            "code": _code,
            "keyword": _or_list(_dotted),
            "value": _or_list(_string),
            "call": _or_list(_dotted),
            "beside": _or_list(_dotted),
            "to": _string,
            "met": _least,
            "unmet": _message,
            "message": _of_row,
            **_weight,
            **_known,
        },
    ),
    "parameter": (
        ("code", "match"),
        {
            "code": _code,
            "match": _or_list(_dotted),
            "rename": _names,
            "remove": _list_of(_dotted),
            "positional": _index,
            "fix": _fix,
            "message": _of_row,
            "example": _list_of(_string, 2),
            **_weight,
            **_known,
        },
    ),
}

KINDS |= kinds(_dotted, _string, _index, languages, _list_of)
KINDS |= setting(_code, _string, _fix, _of_row, _or_list, _weight | _known)
KINDS |= cause(_code, _string, languages, _list_of)
KINDS |= kernel(_string, _of_row, _or_list, _boolean)


def read(name: str, data: bytes) -> list[tuple[str, str, Stanza]]:
    """(kind, where, stanza) for every stanza of one file, each checked for itself."""
    checked = []
    for kind, number, stanza in stanzas(name, data, KINDS):
        title = next((stanza[key] for key in _TITLES if key in stanza), "unnamed")
        where = f"{name}: [[{kind}]] {number} ({title[0] if isinstance(title, list) and title else title})"
        _check(kind, stanza, where)
        checked.append((kind, where, stanza))
    return checked


def _check(kind: str, stanza: Stanza, where: str) -> None:
    required, keys = KINDS[kind]
    for key, value in stanza.items():
        if key not in keys:
            raise RuleError(f"{where}: unknown key {key!r}; known: {', '.join(keys)}")
        if wrong := keys[key](value):
            raise RuleError(f"{where}: {key} {wrong}")
    for key in required:
        if key not in stanza:
            raise RuleError(f"{where}: {key!r} is missing")
    for wrong in contradictions(kind, stanza):
        raise RuleError(f"{where}: {wrong}")
