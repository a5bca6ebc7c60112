"""The files that are put beside a script, and what of a project porter put there."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from porter.errors import UserError
from porter.files.all_files import everything
from porter.files.read import read
from porter.finding import Change
from porter.instrument.loops import RECORDER
from porter.instrument.marks import SPOKEN, Changed, renewed, without
from porter.resources import rules_dir

FILE, CONFIG = f"{RECORDER}.py", "porter_msprobe.json"
_SEALED = b"# porter: recorder "


class Edited(NamedTuple):
    path: str
    before: bytes | None  # None where there was no file
    after: bytes | None  # None where none shall be
    changes: tuple[Change, ...] = ()


def recorder() -> bytes:
    """The file that is put beside the script; its last line tells whether somebody changed it."""
    data = (rules_dir() / "instrument" / FILE).read_bytes()
    return data + _SEALED + hashlib.sha256(data).hexdigest()[:16].encode() + b"\n"


def is_recorder(data: bytes) -> bool:
    """Also one that another porter put there."""
    text, mark, seal = data.rpartition(_SEALED)
    return bool(mark) and hashlib.sha256(text).hexdigest()[:16].encode() == seal.strip()


def config(level: str, steps: list[int]) -> bytes:
    """Of msProbe."""
    settings = {
        "task": "statistics",
        "dump_path": "./msprobe_dump",
        "rank": [],
        "step": steps,
        "level": level,
        "statistics": {"scope": [], "list": [], "data_mode": ["all"], "summary_mode": "statistics"},
    }
    return json.dumps(settings, indent=2).encode() + b"\n"


def is_config(data: bytes) -> bool:
    try:
        settings = json.loads(data)
        return data == config(settings["level"], settings["step"])
    except (ValueError, TypeError, KeyError):
        return False


def beside(root: Path, script: str, probe: tuple[str, list[int]] | None) -> list[Edited]:
    """The files of ours in the folder of a script. `probe`: level and steps of msProbe."""
    folder = script.rpartition("/")[0]
    wanted: list[tuple[str, bytes, Callable[[bytes], bool]]] = [(FILE, recorder(), is_recorder)]
    if probe is not None:
        wanted.append((CONFIG, config(*probe), is_config))
    edits = []
    for name, data, is_ours in wanted:
        path = f"{folder}/{name}".lstrip("/")
        before = read(root / path, path) if os.path.lexists(root / path) else None
        if before is not None and not is_ours(before):
            raise _foreign(path)
        edits.append(Edited(path, before, data))
    return edits


def _foreign(path: str) -> UserError:
    return UserError(
        f"{path}: move this file away, it is not as porter wrote it",
        f"{path}：请移走该文件，它与 porter 写入的内容不同",
    )


def removals(root: Path, below: str, exclude: Iterable[str]) -> list[Edited]:
    """Of all files below a folder of the project."""
    edits: list[Edited] = []
    for name in everything(root, exclude):
        own = name.rpartition("/")[2]
        if not name.startswith(below) or not (name.endswith(".py") or own == CONFIG):
            continue
        data = read(root / name, name)
        if own in (FILE, CONFIG):
            is_ours = is_recorder if own == FILE else is_config
            if own == FILE and not is_ours(data):
                raise _foreign(name)
            edits += [Edited(name, data, None)] if is_ours(data) else []
        elif SPOKEN in data:
            try:
                edits.append(Edited(name, data, without(data), renewed(data, [])))
            except Changed as changed:
                raise UserError(
                    f"{name}:{changed.line}: take this line out by hand, it is not as porter wrote it; nothing is removed",
                    f"{name}:{changed.line}：请手工删除此行，它与 porter 写入的内容不同；未移除任何内容",
                ) from None
    return edits
