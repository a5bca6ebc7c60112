"""What a stanza may say that is no rule and maps no name: those of the report's first page, of words and limits, of packages and
releases, of settings files and of CUDA kernels."""

from __future__ import annotations

import re
from collections.abc import Callable

from porter.rulebook.effort import NAMES, wrong_amount
from porter.rulebook.errors import Check, Kinds
from porter.rulebook.opening import wrong_patterns
from porter.rulebook.schema_versions import firsts, pythons, released, version, versions
from porter.target import SOCS

_GRADES = ("V", "E")  # the vendor says so | seen in public work: what is only inferred is no ground for a page


def _grade(value: object) -> str | None:
    return None if value in _GRADES else f"is not one of {', '.join(_GRADES)}"


def _asked(value: object) -> str | None:
    return None if value in ("needed", "asks", "drops") else "is not one of needed, asks, drops"


def _names(value: object) -> str | None:
    if isinstance(value, dict) and value and all(isinstance(new, str) and new for new in value.values()):
        return None
    return "is not a table of names"


def _truth(value: object) -> str | None:
    return None if value.__class__ is bool else "is not true or false"


def kinds(name: Check, text: Check, number: Check, languages: Check, list_of: Callable[[Check], Check]) -> Kinds:
    """kind -> (required keys, all keys), made of the checks of the other stanzas."""
    return {
        "signal": (
            ("name", "title"),
            {
                "name": name,
                "title": languages,
                "pattern": pattern,
                "words": list_of(text),
                "import": list_of(name),
                "imports": name,
                "only": list_of(text),
                "sources": pattern,
                "copies": _truth,
            },
        ),
        "route": (
            ("name", "tier", "when", "title", "text", "evidence"),
            {
                "name": name,
                "tier": number,
                "when": list_of(_condition(name)),
                "own": text,
                "edited": _truth,
                "places": number,
                "stops": list_of(text),
                "style": name,
                "head": languages,
                "title": languages,
                "text": languages,
                "snippet": text,
                "evidence": languages,
                "reference": text,
            },
        ),
        "limit": (
            ("match", "text", "grade", "evidence"),
            {
                "match": list_of(name),
                "argument": name,
                "soc": list_of(lambda value: None if value in SOCS else f"is not one of {', '.join(SOCS)}"),
                "idle": lambda value: None if value is True else "is not true",
                "text": languages,
                "grade": _grade,
                "evidence": text,
            },
        ),
        "npu_variable": (
            ("match", "text", "grade", "evidence"),
            {"match": list_of(name), "value": text, "text": languages, "grade": _grade, "evidence": text},
        ),
        "hint": (("kind", "about", "words"), {"kind": text, "about": text, "words": list_of(pattern)}),
        "road": (("import", "evidence"), {"import": list_of(name), "evidence": text}),
        "backport": (
            ("name", "since", "last", "evidence"),
            {"name": text, "since": version, "last": version, "evidence": text},
        ),
        "gone": (
            ("by", "since", "evidence"),
            {
                "by": text,
                "package": text,
                "since": version,
                "same": _names,
                "instead": _names,
                "module": _names,
                "moved": _names,
                "member": _names,
                "answer": _names,
                "keyword": _names,
                "call": list_of(name),
                "import": name,
                "unless": list_of(pattern),
                "evidence": text,
            },
        ),
        "with_torch": (
            ("name", "kind", "first", "evidence"),
            {"name": text, "kind": _asked, "first": versions, "evidence": text},
        ),
        "wheels": (
            ("name", "evidence"),
            {"name": list_of(text), "first": firsts, "last": pythons, "aarch64": released, "evidence": text},
        ),
        "release": (
            ("name", "torch", "cann", "evidence"),
            {"name": text, "torch": list_of(text), "cann": text, "evidence": text},
        ),
        "step": (
            ("name", "title", "text", "command"),
            {
                "name": name,
                "title": languages,
                "text": languages,
                "command": list_of(text),
                "only": list_of(name),
                "but": list_of(name),
            },
        ),
        "effort": (
            ("name", "first", "title", "why"),
            {
                "name": lambda value: None if value in NAMES else f"is not one of {', '.join(NAMES)}",
                "codes": list_of(text),
                "first": wrong_amount,
                "further": wrong_amount,
                "title": languages,
                "why": languages,
            },
        ),
        "export": (
            ("variable", "value", "group", "when", "why", "evidence"),
            {
                "variable": name,
                "value": text,
                "group": name,
                "when": list_of(text),
                "unless": list_of(pattern),
                "offered": lambda value: None if value is True else "is not true",
                "why": languages,
                "evidence": text,
            },
        ),
    }


def setting(
    code: Check, text: Check, fix: Check, message: Check, or_list: Callable[[Check], Check], weight: dict[str, Check]
) -> Kinds:
    """A key of a settings file and what it may hold."""
    many = {name: or_list(text) for name in ("key", "except", "under", "beside", "yields", "file")}
    like = {"kind": lambda value: None if value in ("device", "backend") else "is not one of device, backend"}
    keys = {"value": pattern, "gate": wrong_patterns, "to": text, "fix": fix, "replace": _replace, "message": message}
    keys["inventory"] = lambda value: None if value is True else "is not true"
    return {"setting": (("code", "value"), {"code": code, **many, **like, **keys, **weight})}


def kernel(text: Check, message: Check, or_list: Callable[[Check], Check], switch: Check) -> Kinds:
    """What stands in the place of a CUDA kernel that goes by a well-known name."""
    keys = {"name": text, "match": pattern, "replacement": or_list(text), "message": message, "evidence": text}
    return {"kernel": (("name", "match", "message", "evidence"), {**keys, "composed": switch})}


def _replace(value: object) -> str | None:
    return None if value in ("key", "value") else "is not one of key, value"


def pattern(value: object) -> str | None:
    if not isinstance(value, str) or not value:
        return "is no regular expression"
    try:
        re.compile(value)
    except re.error as error:
        return f"is no regular expression: {error}"
    return None


def _condition(name: Check) -> Check:
    """A signal in at least so many files, and in this share of those that import torch; or no file with a signal."""
    checks: dict[str, Check] = {"signal": name, "without": name, "least": _count, "share": _share}

    def inner(value: object) -> str | None:
        if not isinstance(value, dict) or len({"signal", "without"} & value.keys()) != 1:
            return "does not name one of 'signal' and 'without', and one alone"
        unknown = sorted(value.keys() - checks.keys())
        if unknown:
            return f"has the unknown key {unknown[0]!r}"
        return next((f"says {key!r}, which {wrong}" for key in value if (wrong := checks[key](value[key]))), None)

    return inner


def _count(value: object) -> str | None:
    return None if type(value) is int and value > 0 else "is not a number of files from 1"


def _share(value: object) -> str | None:
    if isinstance(value, (int, float)) and value.__class__ is not bool and 0 <= value <= 1:
        return None
    return "is not a share from 0 to 1"
