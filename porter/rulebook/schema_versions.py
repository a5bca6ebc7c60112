"""Versions in rules/*.toml: each check says what is wrong, or nothing."""

from __future__ import annotations

import re


def version(value: object) -> str | None:
    fits = isinstance(value, str) and re.fullmatch(r"\d+(\.\d+)+(\.post\d+)?", value)
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
        return pythons(value)
    lines = ({python: line} for python, several in value.items() for line in str(several).split(" "))
    return next((wrong for line in lines if (wrong := pythons(line))), None)


def released(value: object) -> str | None:
    """A version, or `none`."""
    return None if value == "none" else version(value)
