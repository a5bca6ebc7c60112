"""Requirements that stand in settings files: pyproject.toml, Pipfile, setup.cfg, environment.yml."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from porter.engine.rule import Hit, TextRule, named
from porter.project import conda_freeze
from porter.regex import lazy
from porter.text import packages
from porter.text.document import Document
from porter.text.indexes import indexes
from porter.text.installable import python_left_out
from porter.text.packages import EXACT, Wanted, wanted
from porter.text.settings.entries import ADDED, ITEM, Entry, Settings
from porter.text.settings.scope import PROJECT, scope
from porter.versions import canonical

_CONDA = lazy(r"(?:[\w./-]+::)?([A-Za-z0-9][\w.-]*)[ \t]*(?:==?[^=]+(?==))?")  # up to a build: `=0.20.3=pyhd8ed1ab_0`
_ENVIRONMENT = lazy(r"(?i)(?:environment|conda|env)[\w.-]*\.ya?ml$")
_BUILD = lazy(r"(?<=\d)\+cu\d+(?=[\s;\"']|\Z)")  # of a version, before the index: `2.0.1+cu118`
_WIDEST = 1000  # characters before a value: of all that stand in one line, each has the others before it
_PYTHONS = (("requires", "python_version"), ("requires", "python_full_version"))
# what a package says of the Pythons that it is for
_BOUNDS = (("project", "requires-python"), ("tool", "poetry", "dependencies", "python"), ("options", "python_requires"))
_TABLES = ("dependencies", "dev-dependencies", "packages", "dev-packages")


class RequirementLists(TextRule):
    code = "PRT840"
    codes = ("PRT840", "PRT841", "PRT842", "PRT843")
    reads = "settings"

    def look(self, document: Document, settings: Settings) -> Iterator[Hit]:
        if scope(document, settings) != PROJECT:
            return
        kind = _kind(document.path) or _by_keys(document.path, settings)
        if not kind:
            return
        if kind == "conda" and (frozen := conda_freeze.on_windows(document.text)):
            values = named(name=frozen[1], npu=document.session.target.torch_npu)
            yield Hit(frozen.span(1), "windows", code="PRT840", values=values)
            return
        if kind == "conda" and (frozen := conda_freeze.on_x86(document.text)) and document.session.facts.roads.loads:
            yield Hit(frozen.span(1), "frozen", code="PRT840", values=named(name=frozen[1]))
        numbered = [
            pair for number, entry in enumerate(settings.entries) if (pair := _wanted(document, kind, number, entry))
        ]
        added = {name for _, requirement in numbered if (name := requirement.name) == ADDED}
        requirements = [requirement for _, requirement in numbered]
        numbers = {requirement.start: number for number, requirement in numbered}
        for hit in packages.hits(document, requirements):
            if hit.edits and not added:
                settings.edited.add(numbers[hit.at[0]] if any(a < b for a, b, _ in hit.edits) else -1)
            elif hit.edits:
                settings.edited.add(numbers[hit.at[0]])
            yield hit
        for number, entry in enumerate(settings.entries):
            if entry.path in _BOUNDS and document.session.facts.roads.loads and not packages.for_npus(document.path):
                if bound := python_left_out(entry.value.strip(), document.session.target.torch):
                    yield Hit((entry.start, entry.end), "python-bound", code="PRT840", values=named(**bound))
            if entry.exact and "://" in entry.value:
                for hit in _command(document, entry):
                    settings.edited.update([number] if hit.edits else [])
                    yield hit


def _command(document: Document, entry: Entry) -> Iterator[Hit]:
    """`"pip install torch==2.0.1+cu118 --index-url .../cu118"`: with the index, its builds are asked for by another name."""
    builds = [match.span() for match in _BUILD.finditer(document.text, entry.start, entry.end)]
    for hit in indexes(document, entry.start, entry.end):
        if hit.edits and builds:
            hit = replace(hit, edits=(*((*span, "") for span in builds), *hit.edits))
            builds = []
        yield hit


def _kind(path: str) -> str:
    name = path.rpartition("/")[2]
    plain = {"pyproject.toml": "toml", "Pipfile": "toml", "setup.cfg": "ini"}
    return plain.get(name, "conda" if _ENVIRONMENT.match(name) else "")


def _by_keys(path: str, settings: Settings) -> str:
    """An environment of conda under another name, such as that of the project: neuralangelo.yaml."""
    keys = {entry.path[0] for entry in settings.entries if entry.path} if path.endswith((".yaml", ".yml")) else set()
    return "conda" if {"channels", "dependencies"} <= keys else ""


def _wanted(document: Document, kind: str, number: int, entry: Entry) -> tuple[int, Wanted] | None:
    requirement = None
    if not entry.exact:
        return None
    if kind == "conda":
        requirement = _conda(document, entry)
    elif kind == "ini":
        if entry.path[:1] in (("options",), ("options.extras_require",)) and entry.path[-1:] == (ITEM,):
            if entry.path[1] == "install_requires" or entry.path[0] == "options.extras_require":
                requirement = wanted(document.text, entry.start, entry.end)
                requirement = requirement and _line(document, requirement, f"{_before(document, entry)}{ADDED}==", "")
                if requirement and entry.path[0] == "options":
                    requirement = replace(requirement, forced=True, extra=_extra(document, kind))
                elif requirement:
                    requirement = replace(requirement, optional=True)
    else:
        requirement = _listed(document, entry, kind) or _table(document, entry) or _python(entry)
    return (number, requirement) if requirement else None


def _before(document: Document, entry: Entry) -> str:
    """What stands before a value in its line: an indent, a dash, a quote."""
    return document.text[max(entry.start - _WIDEST, document.starts[document.place(entry.start)[0] - 1]) : entry.start]


def _line(document: Document, requirement: Wanted, head: str, tail: str) -> Wanted:
    """With a place for another in a line of its own."""
    return replace(requirement, more=(document.line_end(requirement.start), document.newline + head, tail))


def _conda(document: Document, entry: Entry) -> Wanted | None:
    if entry.path[-2:] == ("pip", ITEM) and "dependencies" in entry.path and not entry.value.startswith("-"):
        requirement = wanted(document.text, entry.start, entry.end)
        before = _before(document, entry)
        quote = before[-1:] if before[-1:] in ("'", '"') else ""
        return requirement and _line(document, requirement, f"{before}{ADDED}==", quote)
    if entry.path == ("dependencies", ITEM) and (match := _CONDA.match(entry.value)) and "\n" not in entry.value:
        name = entry.start + match.start(1)
        end = entry.start + match.end() if "=" in match[0] else entry.end
        requirement = wanted(document.text, name, end)
        return requirement and replace(requirement, kind="conda", start=entry.start)
    return None


def _listed(document: Document, entry: Entry, kind: str) -> Wanted | None:
    """Strings as of PEP 508 in a list: `dependencies`, `optional-dependencies.x`, `requires`, groups."""
    path = entry.path
    listed = path[:2] in (
        ("project", "dependencies"),
        ("project", "optional-dependencies"),
        ("build-system", "requires"),
    )
    if not entry.quoted or path[-1:] != (ITEM,) or not (listed or path[:1] == ("dependency-groups",)):
        return None
    requirement = wanted(document.text, entry.start, entry.end)
    if requirement is None:
        return None
    before = _before(document, entry)
    quote, indent = before[-1:], before[:-1]
    between = f",{document.newline}{indent}" if not indent.strip() else ", "
    marker = f" {requirement.marker}" if requirement.marker else ""
    more = (entry.end + 1, f"{between}{quote}{ADDED}==", f"{marker}{quote}")
    if path[:2] != ("project", "dependencies"):
        optional, builds = path[1:2] == ("optional-dependencies",), path[:1] == ("build-system",)
        return replace(requirement, more=more, optional=optional, builds=builds)
    return replace(requirement, more=more, forced=True, extra=_extra(document, kind))


def _extra(document: Document, kind: str) -> tuple[int, str, str] | None:
    """Where a list stands that only those have installed who ask for it, or may stand where there is none yet."""
    text, newline = document.text, document.newline
    table = "project.optional-dependencies" if kind == "toml" else "options.extras_require"
    head, tail = (f'npu = ["{ADDED}==', '"]') if kind == "toml" else (f"npu ={newline}    {ADDED}==", "")
    if match := re.search(rf"^\[{re.escape(table)}\][ \t]*(?:#[^\r\n]*)?$", text.replace("\r", " "), re.MULTILINE):
        return len(text[: match.end()].rstrip()), newline + head, tail
    if table.partition(".")[2] in text or "\n" not in text:
        return None  # given in another way
    is_ended = text.endswith("\n")
    return len(text), newline * (1 if is_ended else 2) + f"[{table}]{newline}{head}", tail + newline * is_ended


def _python(entry: Entry) -> Wanted | None:
    """The Python of a Pipfile, which is this one and no later: `python_version = "3.6"`."""
    exact = EXACT.fullmatch(entry.value) if entry.path in _PYTHONS and entry.quoted else None
    if exact is None:
        return None
    version = entry.start + exact.start(1), entry.start + exact.end(1)
    return Wanted("python", entry.start, entry.end, f"=={exact[1]}", version, kind="conda")


def _table(document: Document, entry: Entry) -> Wanted | None:
    """`torch = "^2.0"`, `torch = {version = "2.1"}` of poetry and pipenv."""
    path = entry.path[:-1] if entry.path[-1:] == ("version",) else entry.path
    poetry = path[:2] == ("tool", "poetry")
    if len(path) < 2 or path[-2] not in _TABLES or not entry.quoted or not (poetry or path[0] in _TABLES[2:]):
        return None
    name = canonical(path[-1])
    spec = entry.value.strip()
    exact = EXACT.fullmatch(spec)
    offset = entry.start + entry.value.index(spec)
    version = (offset + exact.start(1), offset + exact.end(1)) if exact else None
    shown = "" if spec in ("", "*") else spec if spec[0] in "=<>~!^" else f"=={spec}"
    requirement = Wanted(name, entry.start, max(entry.end, entry.start + 1), shown, version)
    if path != entry.path:
        return requirement
    return _line(document, requirement, f'{ADDED} = "' + ("" if poetry else "=="), '"')
