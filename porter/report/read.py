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
        raise UserError(f"{name}: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:
        raise UserError(f"{name}: not what `porter analyze --output findings.json` writes: {error}") from None
    if not isinstance(document, dict) or "schema" not in document:
        raise UserError(f"{name}: not what `porter analyze --output findings.json` writes")
    if document["schema"] != SCHEMA:
        raise UserError(f"{name}: schema {document['schema']!r}, this porter reads {SCHEMA}; write the file anew")
    for key, kind in PARTS.items():
        if not isinstance(document.get(key), kind):
            raise UserError(f"{name}: damaged, or of another version: {key!r} is missing; write the file anew")
    return document


class Templates:
    """The messages of a document's findings, with {placeholders} for their values."""

    def __init__(self, document: dict) -> None:
        self._rules = {rule["code"]: rule["messages"] for rule in document["rules"]}
        self._more = document["more"]

    def of(self, finding: dict, lang: str) -> str:
        text = self._rules[finding["code"]][finding["why"]][lang]
        return text + "".join(more[lang] for more in self._more if more["value"] in finding["values"])
