"""What is said of files that cannot be read, or are too long to read."""

from __future__ import annotations

from pathlib import Path

from porter.engine.refusals import refusal
from porter.engine.session import Session
from porter.files.errors import FilesError
from porter.files.kinds import JSON, NATIVE, PYTHON
from porter.files.read import beginning
from porter.finding import FileResult
from porter.regex import lazy

_NOT_READ = ("large", "binary")  # keys of FilesError: such JSON files are mostly data
_LOOK, _DEVICE = 4096, lazy(rb':\s*"(?:cuda|nccl)')  # what makes settings of JSON, and in how many bytes it is searched
# keys of FilesError -> keys of PRT003, if they differ. A key that OUTSIDE (run/said.py) lacks counts as porter's own failure
_KEYS = {"missing": "vanished", "large": "too-large"}


def is_data(file: Path, kind: str, error: FilesError) -> bool:
    """Whether a file that is not read is JSON without settings. Nothing is said of it: what is long, or in UTF-16, is mostly a
    vocabulary or annotations."""
    return _may_be_data(kind, error) and not _names_device(file)


def _may_be_data(kind: str, error: FilesError) -> bool:
    return kind == JSON and error.key in _NOT_READ


def _names_device(file: Path) -> bool:
    return _DEVICE.search((beginning(file, _LOOK) or b"").replace(b"\0", b"")) is not None


def unread(file: Path, path: str, kind: str, error: FilesError, session: Session) -> FileResult:
    """The finding about a file that cannot be read. `path`: from the root of the project."""
    values = {key: value for key, value in error.message.values.items() if key != "path"}
    key = _KEYS.get(error.key, error.key)
    if kind == NATIVE and key == "too-large":
        key = "too-large-source"
    elif _may_be_data(kind, error) and _names_device(file):
        key = "settings"
    elif kind not in (PYTHON, NATIVE) and key in ("too-large", "binary"):
        key, values["size"] = "data", values.get("size", "0.0")  # "{size} MB or binary"
    return refusal(path, key, session, **values)
