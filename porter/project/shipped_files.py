"""Files of a project that `torch.load("configs/pairs.th")` names, and objects that their pickles name. Nothing is unpickled."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from posixpath import normpath

from porter.files.read import LIMIT, beginning
from porter.regex import lazy, rare

_NAMED = rare(rb"\btorch\.load\(\s*(?:[\"']|f[\"'](?=[^\"'\n]*\{))((?:[\w./-]|\{[\w.]+\})+\.\w+)[\"']")
_COMPUTED = lazy(r"\\\{[^}]*\}")  # `{mode}` of a string that is escaped for a pattern
_OBJECTS = frozenset({"numpy", "argparse", "omegaconf"})
_MOST = 16  # files that one name may mean; of more, nobody looks into each
_LONGEST = (
    1_000_000  # bytes of a pickle: torch keeps tensors outside of it, and a program in Python reads it step by step
)
_TRUSTED = sys.stdlib_module_names | {"torch"}  # who has them means them, and not a file of the project of that name
_PICKLES = 4  # of a file that torch wrote before 1.6: its mark, its version, the machine, and what was saved


def shipped_objects(root: Path, texts: Mapping[str, bytes], files: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Of each file that is loaded by its name and lies in the project, the name and the first object that it holds."""
    loading = (data for data in texts.values() if b"torch.load(" in data)
    named = sorted({name.decode() for data in loading for name in _NAMED.findall(data)})
    if not named:
        return ()
    known = frozenset(files)
    modules = frozenset(path.removesuffix(".py").replace("/", ".") for path in known if path.endswith(".py"))
    found = ((name, _held_by_all([root / path for path in _meant(name, known)], modules)) for name in named)
    return tuple((name, held) for name, held in found if held)


def _held_by_all(paths: list[Path], modules: frozenset[str]) -> str:
    """The first object of the first file, if each has one."""
    first = ""
    for path in paths if len(paths) <= _MOST else ():
        if not (held := _held(path, modules)):
            return ""
        first = first or held
    return first


def _meant(name: str, files: frozenset[str]) -> list[str]:
    """The file of a name: seen from the root, else the only one that ends like this. All files that may be meant, where a part
    of the name is computed."""
    path = normpath(name)
    if "{" in path:
        pattern = re.compile(_COMPUTED.sub("[^/]+", re.escape(path)))
        return sorted(one for one in files if pattern.fullmatch(one))
    ending = [path] if path in files else [one for one in files if one.endswith(f"/{path}")]
    return ending if len(ending) == 1 else []


def _held(path: Path, modules: frozenset[str]) -> str:
    data = beginning(path, LIMIT + 1)
    if data is None or len(data) > LIMIT:
        return ""
    for name in _globals(_pickled(data)):
        module = name.partition(" ")[0]
        top = module.partition(".")[0]
        if top in _OBJECTS or top not in _TRUSTED and any(f".{own}".endswith(f".{module}") for own in modules):
            return name.replace(" ", ".")
    return ""


def _pickled(data: bytes) -> bytes:
    """The pickle of an archive of torch; the whole file where it is none."""
    import zipfile

    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            rows = [row for row in archive.infolist() if row.filename.endswith("/data.pkl")]
            with archive.open(rows[0]) as stream:
                return stream.read(_LONGEST)
    except Exception:  # no archive, or a damaged one: each kind of compression raises errors of its own
        return data[:_LONGEST]


def _globals(data: bytes) -> Iterator[str]:
    """`module name` of what the pickles at the beginning would import."""
    import pickletools

    stream = io.BytesIO(data)
    try:
        for _ in range(_PICKLES):
            for opcode, argument, _ in pickletools.genops(stream):
                if opcode.name == "GLOBAL":
                    yield str(argument)
    except Exception:  # not a pickle: pickletools raises whatever it stumbles over
        return
