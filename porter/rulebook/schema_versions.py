"""Versions in rules/*.toml: each check says what is wrong, or nothing."""

from __future__ import annotations

import re


def version(value: object) -> str | None:
    fits = isinstance(value, str) and re.fullmatch(r"\d+(\.\d+)+", value)
    return None if fits else "is not a version, as in 0.21.0"


def versions(value: object) -> str | None:
    if not isinstance(value, dict) or not value:
        return "is not a table of packages and versions"
    return next((f"has {name!r}, whose version {wrong}" for name, v in value.items() if (wrong := version(v))), None)


def pythons(value: object) -> str | None:
    wrong = versions(value)
    if wrong or not isinstance(value, dict):
        return wrong
    return next((f"has {name!r}, which is no Python" for name in value if not re.fullmatch(r"3\.\d+", str(name))), None)


def firsts(value: object) -> str | None:
    """Of Pythons, the first version of each line of a package: "3.4.8.29 4.1.2.30"."""
    if not isinstance(value, dict) or not value:
        return "is not a table of Pythons and versions"
    for python, lines in value.items():
        if not re.fullmatch(r"3\.\d+", str(python)):
            return f"has {python!r}, which is no Python"
        if wrong := next((w for line in str(lines).split(" ") if (w := released(line))), None):
            return f"has {python!r}, whose version {wrong}"
    return None


def released(value: object) -> str | None:
    fits = isinstance(value, str) and re.fullmatch(r"\d+(\.\d+)+(\.post\d+)?|none", value)
    return None if fits else "is not a version, as in 0.21.0"
