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
_LOOK, _DEVICE = 4096, lazy(rb':\s*"(?:cuda|nccl)')  # what is searched in the first bytes of such a file
_KEYS = {"missing": "vanished", "large": "too-large"}  # keys of FilesError -> keys of PRT003, if they differ


def is_data(path: Path, kind: str, error: FilesError) -> bool:
    """Whether a file that is not read is JSON without settings. Nothing is said of it: what is long, or in UTF-16, is mostly a
    vocabulary or annotations."""
    if error.key not in _NOT_READ or kind != JSON:
        return False
    return _DEVICE.search((beginning(path, _LOOK) or b"").replace(b"\0", b"")) is None


def unread(path: str, kind: str, error: FilesError, session: Session) -> FileResult:
    """The finding about a file that cannot be read."""
    values = {key: value for key, value in error.message.values.items() if key != "path"}
    key = _KEYS.get(error.key, error.key)
    if kind == NATIVE and key == "too-large":
        key = "too-large-source"
    elif kind not in (PYTHON, NATIVE) and key in ("too-large", "binary"):
        key, values["size"] = "data", values.get("size", "0.0")  # such a file holds no settings
    return refusal(path, key, session, **values)
