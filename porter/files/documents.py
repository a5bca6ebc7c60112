"""A JSON document that porter wrote, read back: of the version that it still reads, and with all its parts.

`report/read.py` reads findings with it, `verify/result.py` what `porter verify` found.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeAlias

from porter.errors import UserError
from porter.files import read as files

Json: TypeAlias = "dict[str, Any]"  # an object of JSON: a document, or a part of one


def read(name: str, command: str, version: tuple[str, int], parts: Mapping[str, type]) -> Json:
    """`command`: what writes such a document. `version`: the key of the version, and the only version that is read.
    `parts`: the keys that must be there, with their types. Raises UserError."""
    try:
        document = json.loads(files.read(name, limit=files.DOCUMENT))
    except (ValueError, RecursionError, MemoryError) as error:
        raise _foreign(name, command, error) from None
    key, known = version
    if not isinstance(document, dict) or key not in document:
        raise _foreign(name, command)
    if document[key] != known:
        other = document[key]
        raise UserError(
            f"{name}: {key} {other!r}, this porter reads {known}; write it anew with `{command}`",
            f"{name}：{key} 为 {other!r}，当前 porter 读取 {known}；请用 `{command}` 重新生成",
        )
    for part, kind in parts.items():
        if not isinstance(document.get(part), kind):
            raise UserError(
                f"{name}: damaged, or of another version: {part!r} is missing; write it anew with `{command}`",
                f"{name}：文件损坏或版本不同：缺少 {part!r}；请用 `{command}` 重新生成",
            )
    return document


def _foreign(name: str, command: str, error: object = "") -> UserError:
    en, zh = (f": {error}", f"：{error}") if error else ("", "")
    return UserError(f"{name}: not what `{command}` writes{en}", f"{name}：不是 `{command}` 写出的文件{zh}")
