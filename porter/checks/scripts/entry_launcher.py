"""Once for a repository: what its launcher has to set up before anything runs on an NPU."""

from __future__ import annotations

import re
from collections.abc import Iterator

from porter.engine.rule import Hit, TextRule
from porter.text.document import Document
from porter.text.shells.script import Script

_STARTS = re.compile(
    r"^[^#\n]*?("
    r"(?<![\w./-])(?:torchrun|deepspeed|horovodrun|accelerate[ \t]+launch|python[\d.]*)(?![\w.-]))",
    re.M,
)


class EntryLauncher(TextRule):
    code = "PRT826"
    reads = "script"

    def look(self, document: Document, script: Script) -> Iterator[Hit]:
        if document.session.facts.launch.script != document.path or "set_env.sh" in document.text:
            return
        if match := _STARTS.search(script.text):
            yield Hit(match.span(1), "setup", optional=True)
