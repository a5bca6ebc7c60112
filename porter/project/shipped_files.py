"""Files of a project that `torch.load("configs/pairs.th")` names, and objects that their pickles name. Nothing is unpickled."""

from __future__ import annotations

import io
import pickletools
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from posixpath import normpath

from porter.files.read import LIMIT, beginning
from porter.regex import lazy

_NAMED = lazy(rb"\btorch\.load\(\s*(?:[\"']|f[\"'](?=[^\"'\n]*\{))((?:[\w./-]|\{[\w.]+\})+\.\w+)[\"']")
_COMPUTED = lazy(r"\\\{[^}]*\}")  # `{mode}` of a string that is escaped for a pattern
_OBJECTS = frozenset({"numpy", "argparse", "omegaconf"})
_PICKLES = 4  # of a file that torch wrote before 1.6: its mark, its version, the machine, and what was saved


def shipped_objects(root: Path, texts: Mapping[str, bytes], files: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Of each file that is loaded by its name and lies in the project, the name and the first object that it holds."""
    loading = (data for data in texts.values() if b"torch.load(" in data)
    named = sorted({name.decode() for data in loading for name in _NAMED.findall(data)})
    if not named:
        return ()
    known = frozenset(files)
    modules = frozenset(path.removesuffix(".py").replace("/", ".") for path in known if path.endswith(".py"))
    found = ((name, [_held(root / path, modules) for path in _meant(name, known)]) for name in named)
    return tuple((name, held[0]) for name, held in found if held and all(held))


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
        if module.partition(".")[0] in _OBJECTS or any(f".{own}".endswith(f".{module}") for own in modules):
            return name.replace(" ", ".")
    return ""


def _pickled(data: bytes) -> bytes:
    """The pickle of an archive of torch; the whole file where it is none."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            rows = [row for row in archive.infolist() if row.filename.endswith("/data.pkl") and row.file_size <= LIMIT]
            return archive.read(rows[0]) if rows else b""
    except (zipfile.BadZipFile, RuntimeError, NotImplementedError, ValueError, OSError, EOFError):
        return data


def _globals(data: bytes) -> Iterator[str]:
    """`module name` of what the pickles at the beginning would import."""
    stream = io.BytesIO(data)
    try:
        for _ in range(_PICKLES):
            for opcode, argument, _ in pickletools.genops(stream):
                if opcode.name == "GLOBAL":
                    yield str(argument)
    except Exception:  # not a pickle: pickletools raises whatever it stumbles over
        return
