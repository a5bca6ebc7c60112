"""How results lie in their place: names, the row that makes one whole, and what is told of a place that is of no use."""

from __future__ import annotations

import json
from typing import Any

from porter.errors import UserError
from porter.files.documents import Json
from porter.fleet.row import SCHEMA
from porter.report.sanitise import as_json

REPOSITORIES, LIBRARIES = "repositories", "libraries"  # the shelves of results
ROW, REPORT, FINDINGS = "row.json", "report.html", "findings.json"
MARK = ".porter-fleet"  # a place with this is ours


def whole(data: bytes) -> Json | None:
    """A row that this porter reads."""
    try:
        row: Any = json.loads(data)
    except ValueError:
        return None
    return row if isinstance(row, dict) and row.get("schema") == SCHEMA and "key" in row else None


def with_key(row: Json, key: str) -> bytes:
    """`key`: what the result was made for."""
    return as_json({"key": key, **row}).encode()


def foreign(place: str) -> UserError:
    return UserError(
        f"--output {place}: there is something here that `porter fleet` did not write; name an empty folder",
        f"--output {place}：其中有并非 `porter fleet` 写出的内容；请指定空目录",
    )


def unwritable(place: str, error: OSError) -> UserError:
    why = error.strerror or error
    return UserError(f"--output {place}: cannot be written: {why}", f"--output {place}：无法写入：{why}")
