"""Who imports the packages that a project asks to have installed and that do not run on NPUs: what dies with each."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from porter.files.kinds import LARGEST_OF_OTHERS, NOTEBOOK, REQUIREMENTS, kind_of
from porter.files.read import beginning
from porter.python.uses import is_idle
from porter.rulebook.table import load

_LISTS = ("pyproject.toml", "setup.cfg", "setup.py", "Pipfile")
_ENVIRONMENT = re.compile(r"(?i)(?:environment|conda|env)[\w.-]*\.ya?ml$")
_PLAIN = re.compile(rb"\nimport ([A-Za-z_]\w*)[ \t]*(?=[\r\n])")
_FIRST = re.compile(rb"\Aimport ([A-Za-z_]\w*)[ \t]*(?=[\r\n])")
_NUMPY = re.compile(rb"""^[ \t]*(?:-[ \t]+)?["']?numpy(?![\w.-])[ \t]*([^\n;#"']{0,80})""", re.MULTILINE)
_SHOWN = 2
_NEEDS = re.compile(rb"\binstall_requires\b|^dynamic[ \t]*=[^\n]*dependencies", re.MULTILINE)
_FILE = re.compile(rb"""["'](?:\./)?([\w./-]{1,100}\.(?:txt|in))["']""")
LIMIT = 1_000_000


def users(
    root: Path, files: Sequence[str], texts: Mapping[str, bytes]
) -> tuple[tuple[tuple[str, str], ...], tuple[str, ...]]:
    """(what is imported, the files that do), of packages that stand in some list of requirements; and those of them, and of
    packages that install everywhere, that no file imports.

    `texts`: the Python files that import anything.
    """
    asked = b"".join(_lists(root, files)).lower()
    names = {}
    for imported, row in load().packages.items():
        stands = asked and any(name.lower().encode() in asked for name in row.names)
        if row.status != "native" and (stands or row.anywhere):
            names[imported.encode()] = imported
    users: dict[str, set[str]] = {}
    for word, name in sorted(names.items()):
        pattern, last = _import_of(word), word.rpartition(b".")[2]
        for path, text in texts.items():
            if any(map(pattern.match, _lines_with(last, text))):
                users.setdefault(name, set()).add(path)
    nobodys = [name for name in names.values() if name not in users]
    notebooks = b"".join(_notebooks(root, files)) if nobodys else b""
    unimported = sorted(name for name in nobodys if name.encode() not in notebooks)
    return tuple((name, _shown(sorted(paths))) for name, paths in sorted(users.items())), tuple(unimported)


def _lines_with(word: bytes, text: bytes) -> Iterator[bytes]:
    """The lines that hold it. To look for it takes a fraction of the time of a pattern that begins at each line."""
    at = text.find(word)
    while at >= 0:
        end = text.find(b"\n", at)
        yield text[text.rfind(b"\n", 0, at) + 1 : end if end >= 0 else None]
        at = text.find(word, end) if end >= 0 else -1


def _import_of(word: bytes) -> re.Pattern[bytes]:
    above, _, last = map(re.escape, word.rpartition(b"."))
    part = rb"|from[ \t]+" + above + rb"[ \t]+import\b[^\n]*\b" + last if above else b""
    others = rb"(?:[\w.]+(?:[ \t]+as[ \t]+\w+)?[ \t]*,[ \t]*)*"  # one way to read each, or it takes ages
    whole = rb"(?:from[ \t]+|import[ \t]+" + others + rb")" + re.escape(word)
    return re.compile(rb"[ \t]*(?:" + whole + part + rb")(?!\w)")


def _notebooks(root: Path, files: Sequence[str]) -> Iterator[bytes]:
    """Lines of notebooks that import something."""
    for path in files:
        if kind_of(path) == NOTEBOOK and (data := beginning(root / path, LARGEST_OF_OTHERS)):
            yield from (line for line in data.splitlines() if b"import" in line)


def idle(texts: Mapping[str, bytes]) -> tuple[tuple[str, str, int], ...]:
    """(package, first file, how many more) of `import package` at the left margin, where no other word of the file is it."""
    files: dict[bytes, list[str]] = {}
    for path in sorted(texts):
        text = texts[path]
        if path.endswith("__init__.py"):
            continue
        for name in {*_PLAIN.findall(text), *_FIRST.findall(text)}:
            files.setdefault(name, []).append(path)
    known = {name.encode() for name, row in load().packages.items() if row.why}
    found = []
    for name in sorted(files.keys() & known):
        paths = [path for path in files[name] if is_idle(texts[path], name)]
        if paths:
            found.append((name.decode(), paths[0], len(paths) - 1))
    return tuple(found)


def numpys(root: Path, files: Sequence[str]) -> tuple[str, ...]:
    """What the lists of a project ask of numpy, "" where one takes any."""
    specs = {
        match[1].strip().decode("ascii", "replace") for data in _lists(root, files) for match in _NUMPY.finditer(data)
    }
    return tuple(sorted(specs))


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
