"""Who imports the packages that a project asks to have installed and that do not run on NPUs: what dies with each."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from porter.files.kinds import REQUIREMENTS, kind_of
from porter.files.read import beginning

_LISTS = ("pyproject.toml", "setup.cfg", "setup.py", "Pipfile")
_ENVIRONMENT = re.compile(r"(?i)(?:environment|conda|env)[\w.-]*\.ya?ml$")
_SHOWN = 2
_NEEDS = re.compile(rb"\binstall_requires\b|^dynamic[ \t]*=[^\n]*dependencies", re.MULTILINE)
_FILE = re.compile(rb"""["'](?:\./)?([\w./-]{1,100}\.(?:txt|in))["']""")
LIMIT = 1_000_000


def users(root: Path, files: Sequence[str], texts: Mapping[str, bytes]) -> tuple[tuple[str, str], ...]:
    """(what is imported, the files that do), of packages that stand in some list of requirements.

    `texts`: the Python files that import anything.
    """
    asked = b"".join(_lists(root, files)).lower()
    if not asked:
        return ()
    from porter.rulebook.table import load

    names = {}
    for imported, row in load().packages.items():
        if row.status != "native" and any(name.lower().encode() in asked for name in row.names):
            names[imported.encode()] = imported
    if not names:
        return ()
    users: dict[str, set[str]] = {}
    for word, name in sorted(names.items()):
        says = re.compile(rb"^[ \t]*(?:from|import)[ \t]+" + re.escape(word) + rb"(?![\w])", re.MULTILINE).search
        for path, text in texts.items():
            if word in text and says(text):  # the first takes a tenth of the time of the second
                users.setdefault(name, set()).add(path)
    return tuple((name, _shown(sorted(paths))) for name, paths in sorted(users.items()))


def installed(root: Path, files: Sequence[str]) -> Iterator[str]:
    """Requirement files that setup.py, or pyproject.toml, beside them names as what the package needs."""
    lists = {path for path in files if kind_of(path) == REQUIREMENTS}
    for path in files if lists else ():
        folder, slash, name = path.rpartition("/")
        if name in ("setup.py", "pyproject.toml") and (data := beginning(root / path, LIMIT)):
            if _NEEDS.search(data):
                named = {f"{folder}{slash}{word.decode()}" for word in _FILE.findall(data)}
                yield from named & lists


def _shown(paths: list[str]) -> str:
    more = len(paths) - _SHOWN
    return ", ".join(paths[:_SHOWN]) + (f" (+{more})" if more > 0 else "")


def _lists(root: Path, files: Sequence[str]) -> Iterator[bytes]:
    for path in files:
        name = path.rpartition("/")[2]
        if (
            name in _LISTS
            or _ENVIRONMENT.match(name)
            or name.endswith((".txt", ".in"))
            and kind_of(path) == REQUIREMENTS
        ):
            if data := beginning(root / path, LIMIT):
                yield data
