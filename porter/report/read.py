"""A document that `json` wrote, read back: what `porter report` and `porter diff` start from."""

from __future__ import annotations

from porter.files import documents
from porter.files.documents import Json
from porter.report.json import SCHEMA

PARTS = {  # what must be there, and of which type
    "porter": str, "language": str, "target": dict, "summary": dict, "plan": list, "advice": list, "files": list, "left_out": list,
    "support": dict, "apis": list, "packages": list, "entries": list, "environment": dict, "switched_off": list, "rules": list, "more": list, "findings": list,
    "sources": dict,
}  # fmt: skip


def read(name: str) -> Json:
    return documents.read(name, "porter analyze --output findings.json", ("schema", SCHEMA), PARTS)


class Templates:
    """The messages of a document's findings, with {placeholders} for their values."""

    def __init__(self, document: Json) -> None:
        self._rules = {rule["code"]: rule["messages"] for rule in document["rules"]}
        self._more = document["more"]

    def of(self, finding: Json, lang: str, alone: bool = True) -> str:
        """`alone`: with what holds at this place and at no other of its cause."""
        text: str = self._rules[finding["code"]][finding["why"]][lang]
        return text + "".join(more[lang] for more in self._more if alone and more["value"] in finding["values"])

    def details(self, finding: Json, lang: str) -> str:
        """Older documents have none."""
        text: str = self._rules[finding["code"]][finding["why"]].get("details", {}).get(lang, "")
        return text
