"""A document that `json` wrote, read back: what `porter report` and `porter diff` start from."""

from __future__ import annotations

import json
from pathlib import Path

from porter.errors import UserError
from porter.report.json import SCHEMA

PARTS = {  # what must be there, and of which type
    "porter": str, "language": str, "target": dict, "summary": dict, "plan": list, "advice": list, "files": list, "left_out": list,
    "support": dict, "apis": list, "packages": list, "entries": list, "environment": dict, "switched_off": list, "rules": list, "more": list, "findings": list,
    "sources": dict,
}  # fmt: skip


def read(name: str) -> dict:
    try:
        document = json.loads(Path(name).read_bytes())
    except OSError as error:
        why = error.strerror or error
        raise UserError(f"{name}: {why}", f"{name}：{why}") from None
    except (ValueError, RecursionError) as error:
        raise _foreign(name, error) from None
    if not isinstance(document, dict) or "schema" not in document:
        raise _foreign(name)
    if document["schema"] != SCHEMA:
        other = document["schema"]
        raise UserError(
            f"{name}: schema {other!r}, this porter reads {SCHEMA}; write the file anew",
            f"{name}：schema 为 {other!r}，当前 porter 读取 {SCHEMA}；请重新生成该文件",
        )
    for key, kind in PARTS.items():
        if not isinstance(document.get(key), kind):
            raise UserError(
                f"{name}: damaged, or of another version: {key!r} is missing; write the file anew",
                f"{name}：文件损坏或版本不同：缺少 {key!r}；请重新生成该文件",
            )
    return document


class Templates:
    """The messages of a document's findings, with {placeholders} for their values."""

    def __init__(self, document: dict) -> None:
        self._rules = {rule["code"]: rule["messages"] for rule in document["rules"]}
        self._more = document["more"]

    def of(self, finding: dict, lang: str) -> str:
        text = self._rules[finding["code"]][finding["why"]][lang]
        return text + "".join(more[lang] for more in self._more if more["value"] in finding["values"])


def _foreign(name: str, error: object = "") -> UserError:
    command = "`porter analyze --output findings.json`"
    en, zh = (f": {error}", f"：{error}") if error else ("", "")
    return UserError(f"{name}: not what {command} writes{en}", f"{name}：不是 {command} 写出的文件{zh}")
