"""Here-documents: programs and settings inside a script. They are left as they are; one that speaks of CUDA is named."""

from __future__ import annotations

import re
from collections.abc import Iterator

from porter.engine.rule import Hit, TextRule, named
from porter.text.document import Document
from porter.text.shells.script import Script

_SAYS = re.compile(
    r"^(?![ \t]*(?:#|//))[^\n]*?((?<![\w/.-])(?:(?:torch\.)?cuda|nccl|nvidia-smi)(?![\w/-])|(?<=\.)cuda(?=\())",
    re.MULTILINE,
)
_READ = re.compile(
    r"(?:^|[\s;|&(/%])(?P<program>python[\d.]*|sbatch|bash|sh)\b"
    r"|(?:>>?|\btee\b(?:[ \t]+-a)?|%%(?:write)?file\b(?:[ \t]+-a)?)[ \t]*[\"']?(?P<file>[^\s\"'|;&<>]+\.(?:py|ya?ml|json|toml|ini|cfg|conf|sh|bash|slurm|sbatch))\b"
)


class Heredocs(TextRule):
    code = "PRT827"
    reads = "script"

    def look(self, document: Document, script: Script) -> Iterator[Hit]:
        for start, end in script.heredocs:
            match = _SAYS.search(script.text, start, end)
            head = script.text[script.text.rfind("\n", 0, start - 1) + 1 : start]
            reader = _READ.search(head) if match else None
            if match and reader is not None:
                values = named(name=match[1], reader=reader["program"] or reader["file"])
                yield Hit(
                    (match.start(1), match.end(1)),
                    "file" if reader["file"] else "program",
                    code="PRT827",
                    values=values,
                )
