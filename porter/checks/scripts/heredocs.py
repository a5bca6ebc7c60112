"""Programs and settings inside a script: here-documents, and what `python -c` is handed. They are left as they are; one that speaks
of CUDA is named."""

from __future__ import annotations

import re
from collections.abc import Iterator

from porter.engine.rule import Hit, TextRule, named
from porter.regex import lazy
from porter.text.document import Document
from porter.text.shells.script import Script

_SAYS = lazy(
    r"^(?![ \t]*(?:#|//))[^\n]*?((?<![\w/.-])(?:(?:torch\.(?:version\.)?)?cuda|nccl|nvidia-smi)(?![\w/-])|(?<=\.)cuda(?=\())",
    re.MULTILINE,
)
_READ = lazy(
    r"(?:^|[\s;|&(/%])(?P<program>python[\d.]*|sbatch|bash|sh)\b"
    r"|(?:>>?|\btee\b(?:[ \t]+-a)?|%%(?:write)?file\b(?:[ \t]+-a)?)[ \t]*[\"']?(?P<file>[^\s\"'|;&<>]+\.(?:py|ya?ml|json|toml|ini|cfg|conf|sh|bash|slurm|sbatch))\b"
)
_HANDED = lazy(
    r"^(?![\"']?[ \t]*#)[^\n]*?(torch\.(?:version\.)?cuda(?!\w)|(?<=\.)cuda(?=\()|(?<=[\"'])(?:cuda(?::\d+)?|nccl)(?=\\?[\"']))",
    re.MULTILINE,
)
_VERSION = "torch.version.cuda"
_RESOURCE = lazy(r"nvidia\.com/gpu(?=[\"']?[ \t]*:)")
_PYTHON = lazy(r"python[\d.]*")


class Heredocs(TextRule):
    code = "PRT827"
    reads = "script"

    def look(self, document: Document, script: Script) -> Iterator[Hit]:
        for start, end in script.heredocs:
            resource = _RESOURCE.search(script.text, start, end)
            if resource is not None:  # whoever reads it: `cat <<EOF | kubectl apply -f -`
                yield Hit(resource.span(), "resource", values=named(name=resource[0]))
                continue
            match = _SAYS.search(script.text, start, end)
            reader = _READ.search(_head(script.text, start)) if match else None
            if match and reader is not None:
                values = named(name=match[1], reader=reader["program"] or reader["file"])
                yield Hit(
                    (match.start(1), match.end(1)),
                    "file" if reader["file"] else "version" if match[1] == _VERSION else "program",
                    values=values,
                )
        yield from _handed(script)


def _head(text: str, end: int) -> str:
    """The command that a here-document belongs to, which may have several lines."""
    start = text.rfind("\n", 0, end - 1) + 1
    while text.endswith("\\\n", 0, start):
        start = text.rfind("\n", 0, start - 1) + 1
    return text[start:end].replace("\\\n", "  ")


def _handed(script: Script) -> Iterator[Hit]:
    """`python -c "import torch; print(torch.cuda.device_count())"`"""
    for command in script.commands:
        words = [word.text for word in command.words]
        at = words.index("-c") if "-c" in words[:-1] else 0
        reader = next((w.name for w in command.words[:at] if _PYTHON.fullmatch(w.name)), None)
        program = command.words[at + 1] if reader else None
        if program and (match := _HANDED.search(program.text)):
            start = program.start + match.start(1)
            values = named(name=match[1], reader=f"{reader} -c")
            why = "version" if match[1] == _VERSION else "argument"
            yield Hit((start, start + len(match[1])), why, values=values)
