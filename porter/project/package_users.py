"""Reads the requirement lists of a project, and finds the files that import packages which do not run on NPUs."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from porter.engine.facts import Lists
from porter.files.kinds import DOCKERFILE, LARGEST_OF_OTHERS, NOTEBOOK, REQUIREMENTS, SHELL, kind_of
from porter.files.read import beginning
from porter.finding import SEVERITIES
from porter.project.absent_packages import absent
from porter.project.asked_names import asked_by_name, asked_of_options, served_folder
from porter.project.bystanders import Importers
from porter.project.imports import Import, Project
from porter.python.trees import Parse
from porter.python.uses import is_idle
from porter.python.walks import statements
from porter.regex import lazy
from porter.rulebook.table import Package, load, package_row

# names of files that ask for packages
_LISTS = ("pyproject.toml", "setup.cfg", "setup.py", "Pipfile")
_ENVIRONMENT = lazy(r"(?i)(?:environment|conda|env)[\w.-]*\.ya?ml$")
_PLAIN = lazy(rb"\nimport ([A-Za-z_]\w*)[ \t]*(?=[\r\n])")  # a line `import package`
_FIRST = lazy(rb"\Aimport ([A-Za-z_]\w*)[ \t]*(?=[\r\n])")  # the same in the first line of a file
# numpy in a list, `numpy = "` of poetry and Pipfile, and the versions
_NUMPY = lazy(
    rb"""^[ \t]*(?:-[ \t]+)?["']?numpy(?![\w.-])[ \t]*(=[ \t]*(?:\{[^}\n]{0,80}?\bversion[ \t]*=[ \t]*)?["'])?[ \t]*"""
    rb"""([^\n;#"']{0,80})""",
    re.MULTILINE,
)
_PYTHON = lazy(
    rb"""^[ \t]*-[ \t]+["']?python[ \t]*==?[ \t]*(3\.\d+)(?![\d.*]*[,|])""", re.MULTILINE
)  # of conda, one alone
_OF_PACKAGES = ("setup.py", "setup.cfg", "pyproject.toml")
_SHOWN = 2  # files that a text names; further ones are counted
# the file reads what the package needs from lists
_NEEDS = lazy(rb"\binstall_requires\b|^dynamic[ \t]*=[^\n]*dependencies", re.MULTILINE)
_FILE = lazy(rb"""["'](?:\./)?([\w./-]{1,100}\.(?:txt|in))["']""")  # the name of such a list
LIMIT = 1_000_000  # bytes of a file that are read


def lists_of(
    root: Path,
    files: Sequence[str],
    texts: Mapping[str, bytes],
    project: Project,
    parse: Parse,
    plain: Iterable[str],
    is_own: Callable[[str, str], bool],
    *,
    loose: bool,
) -> Lists:
    """All facts about the lists of a project. `plain`: lists of packages that name no device. `is_own`: whether a file gets a
    package from the project itself. `loose`: nothing marks a project, so that not all of its files are known."""
    paths = [*list_paths(files)]
    by_path = {path: data for path in paths if (data := beginning(root / path, LIMIT))}
    asking = [(served_folder(path), data) for path, data in by_path.items()]
    installing = _installing(root, files, paths)
    commands = (line.lower() for data in _notebooks(root, files) for line in _installs(data))
    asked, notebooks = b"\n".join((*installing.values(), *commands)), _notebooks(root, files)
    imported, unimported = users(asked, _folders(paths, texts), texts, project.read, notebooks, parse)

    def in_notebook(package: str) -> bool:
        return any(_imports(package, data) for data in _notebooks(root, files))

    importers = Importers(texts, project.read, is_own, parse)
    scripts = [(served_folder(p), data) for p, data in installing.items() if kind_of(p) in (SHELL, DOCKERFILE)]
    return Lists(
        numpys=numpys(by_path),
        asked=(*asked_of_options(asking, scripts), *asked_by_name(asking)),
        installed=tuple(sorted(installed(root, files))),
        plain=tuple(sorted(plain)),
        imported=imported,
        unimported=() if loose else unimported,
        idle=idle(texts),
        absent=() if loose else tuple(absent(root, files, paths, texts, project)),
        bystanders=tuple(importers.bystanders(installing)),
        gravest=() if loose else tuple(gravest(texts, project.read)),
        unneeded=() if loose else tuple(importers.unneeded(installing, in_notebook)),
    )


def users(
    asked: bytes,
    folders: Sequence[str],
    texts: Mapping[str, bytes],
    read: Callable[[str], list[Import]],
    notebooks: Iterable[bytes],
    parse: Parse,
) -> tuple[tuple[tuple[str, str, str], ...], tuple[str, ...]]:
    """(package, folder, files that import it) for each package that counts; and those that no file imports. What a list asks for
    counts, and what installs without a GPU (`anywhere` in its row), listed or not.

    A folder is "" for the whole project, or one with its own list and programs. A part of a package that runs on NPUs as it is
    does not count, unless only later versions do. `asked`: all lists, and what else installs. `texts`: Python files with imports. `read`: these imports.
    """
    asked = asked.lower()
    rows = load().packages
    names = []
    for name, row in sorted(rows.items()):
        stands = asked and any(listed.lower().encode() in asked for listed in row.names)
        if row.status != "native" and (stands or row.anywhere) or stands and _is_later_part(name, row):
            names.append(name)
    statements: dict[str, list[tuple[str, Import]]] = {}  # by the first word of what they import
    for path in texts if names else ():
        for statement in read(path):
            statements.setdefault(statement.module.partition(".")[0], []).append((path, statement))
    users: dict[str, set[str]] = {}
    for name in names:
        module = rows[name].known_as[1] or name
        imports = statements.get(module.partition(".")[0], ())
        paths = {path for path, statement in imports if _is_of(module, statement)}
        if _is_later_part(name, rows[name]):  # may be used as `package.part`
            paths |= {path for path, _ in imports if path not in paths and name.encode() in texts[path]}
        if not paths:
            continue
        parted = any(row.status == "native" and part.startswith(f"{name}.") for part, row in rows.items())
        parted = parted and not _brings(name, texts)  # its own files import all of it
        paths = {path for path in paths if not parted or not _native(parse(texts[path]), name, rows)}
        if paths:
            users[name] = paths
    nobodys = {name for name in names if name not in users and rows[name].status != "native"}
    for data in notebooks if nobodys else ():
        importing = b"\n".join(_lines_with(b"import", data))
        nobodys -= {name for name in nobodys if (rows[name].known_as[1] or name).encode() in importing}
    return tuple(_by_folder(users, folders)), tuple(sorted(nobodys))


def gravest(texts: Iterable[str], read: Callable[[str], list[Import]]) -> Iterator[tuple[str, str]]:
    """(package, worst severity) of packages that can be installed anywhere, if files import only parts with rows of their own."""
    rows = load().packages
    anywhere = {name: row for name, row in rows.items() if row.anywhere and row.why and "." not in name}
    imported: dict[str, set[str]] = {}
    for path in texts if anywhere else ():
        for module, names, *_ in read(path):
            if (top := module.partition(".")[0]) in anywhere:
                imported.setdefault(top, set()).update([f"{module}.{name}" for name, _ in names] or [top])
    for top, names_of in sorted(imported.items()):
        known = [row for name in names_of if (row := package_row(name, rows))]
        if all(name != top for name, _ in known):
            weights = [row.severity for _, row in known if row.status != "native" and row.why]
            yield top, min(weights, key=SEVERITIES.index, default="note")


def _is_later_part(name: str, row: Package) -> bool:
    """Whether a row is about a part of a package that runs on NPUs from some version on."""
    return row.status == "native" and row.since is not None and "." in name


def _by_folder(users: Mapping[str, set[str]], folders: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    for name, paths in sorted(users.items()):
        for folder in folders:
            yield name, folder, _shown(sorted(path for path in paths if path.startswith(folder)))


def _folders(lists: Sequence[str], texts: Mapping[str, bytes]) -> list[str]:
    """ "" for the whole project, and "part/" for each folder that has a list and programs."""
    programs = {path.rpartition("/")[0] + "/" for path in texts}
    for folder in [*programs]:
        while folder := folder.rstrip("/").rpartition("/")[0]:
            programs.add(f"{folder}/")
    return ["", *sorted(programs & {path.rpartition("/")[0] + "/" for path in lists if "/" in path})]


def _brings(package: str, texts: Mapping[str, bytes]) -> bool:
    """Whether the project provides this package itself."""
    home = f"/{package.partition('.')[0]}/__init__.py"
    return any(f"/{path}".endswith(home) for path in texts)


def _native(tree: ast.Module | None, package: str, rows: Mapping[str, Package]) -> bool:
    """Whether a file imports only parts of a package that run on NPUs as they are. `import a.b` gives all of a."""
    if tree is None:
        return False
    imported: list[str] = []
    for node in statements(tree):
        if isinstance(node, ast.Import):
            imported += [alias.name if alias.asname else alias.name.partition(".")[0] for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            imported += [f"{node.module}.{alias.name}" for alias in node.names]
    return all(_is_native(name, rows) for name in imported if f"{name}.".startswith(f"{package}."))


def _is_native(name: str, rows: Mapping[str, Package]) -> bool:
    known = package_row(name, rows)
    return known is not None and known[1].status == "native"


def _imports(package: str, notebook: bytes) -> bool:
    return any(b"import" in line for line in _lines_with(package.encode(), notebook))


def _lines_with(word: bytes, text: bytes) -> Iterator[bytes]:
    """The lines of a text that hold a word. A pattern for whole lines would take much more time."""
    at = text.find(word)
    while at >= 0:
        end = text.find(b"\n", at)
        yield text[text.rfind(b"\n", 0, at) + 1 : end if end >= 0 else None]
        at = text.find(word, end) if end >= 0 else -1


def _is_of(package: str, statement: Import) -> bool:
    """Whether a statement imports the package, which may have dots, or a part of it."""
    if f"{statement.module}.".startswith(f"{package}."):
        return True
    return any(f"{statement.module}.{name}" == package for name, _ in statement.names)


def _notebooks(root: Path, files: Sequence[str]) -> Iterator[bytes]:
    return (data for p in files if kind_of(p) == NOTEBOOK and (data := beginning(root / p, LARGEST_OF_OTHERS)))


def _installs(notebook: bytes) -> Iterator[bytes]:
    """The lines that may install packages; what a cell shows may be long."""
    return (line for line in notebook.split(b"\n") if b"install" in line) if b"install" in notebook else iter(())


def idle(texts: Mapping[str, bytes]) -> tuple[tuple[str, str, int], ...]:
    """(package, first file, how many more files) of each `import package` in the first column whose name the file never uses."""
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


def numpys(lists: Mapping[str, bytes]) -> tuple[tuple[str, str, str], ...]:
    """(versions, Python, last): which numpy the lists of a project ask for, "" for any; the Python that the list pins, which may
    have a last numpy. A package that takes any is installed beside what the environment of conda has."""
    found, lasts = set[tuple[str, str, str]](), dict(load().pins["last:numpy"])
    is_conda = any(map(_PYTHON.search, lists.values()))
    for path, data in lists.items():
        python = _PYTHON.search(data)
        pinned = python[1].decode() if python else ""
        specs = {_numpy(match) for match in _NUMPY.finditer(data)}
        if is_conda and path.rpartition("/")[2] in _OF_PACKAGES:
            specs.discard("")
        found.update((spec, pinned, lasts.get(pinned, "")) for spec in specs or [""] * (pinned in lasts))
    return tuple(sorted(found))


def _numpy(match: re.Match[bytes]) -> str:
    """The versions of numpy in a list. `numpy = "1.24"` of poetry is that version alone."""
    spec = match[2].strip().decode("ascii", "replace")
    return f"=={spec}" if match[1] and spec[:1].isdigit() else spec


def installed(root: Path, files: Sequence[str]) -> Iterator[str]:
    """Requirement files that a setup.py or pyproject.toml beside them reads as the needs of its package."""
    lists = {path for path in files if kind_of(path) == REQUIREMENTS}
    for path in files if lists else ():
        folder, slash, name = path.rpartition("/")
        if name in ("setup.py", "pyproject.toml") and (data := beginning(root / path, LIMIT)):
            if _NEEDS.search(data):
                named = {f"{folder}{slash}{word.decode()}" for word in _FILE.findall(data)}
                yield from named & lists


def _installing(root: Path, files: Sequence[str], lists: Sequence[str]) -> dict[str, bytes]:
    """The texts of the lists, and of scripts that install packages, in lower case."""
    known = {path: beginning(root / path, LIMIT) for path in lists}
    known |= {path: beginning(root / path, LIMIT) for path in files if kind_of(path) in (SHELL, DOCKERFILE)}
    return {path: data.lower() for path, data in known.items() if data and (path in lists or b"install" in data)}


def _shown(paths: list[str]) -> str:
    more = len(paths) - _SHOWN
    return ", ".join(paths[:_SHOWN]) + (f" (+{more})" if more > 0 else "")


def list_paths(files: Iterable[str]) -> Iterator[str]:
    """The files that ask for packages, by their names."""
    for path in files:
        name = path.rpartition("/")[2]
        if (
            name in _LISTS
            or _ENVIRONMENT.match(name)
            or name.endswith((".txt", ".in"))
            and kind_of(path) == REQUIREMENTS
        ):
            yield path
