"""`device: $torch.device("cuda")`: Python that a settings file holds, as bundles of MONAI do. It is run as it stands."""

from __future__ import annotations

from porter.engine.rule import Hit, named
from porter.engine.styles import Rename
from porter.regex import lazy
from porter.text.document import Document
from porter.text.settings.entries import Entry

_EXPRESSION = lazy(r"\$[ \t]*[\w.@]+[ \t]*[.(\[]")
_WORDS = lazy(r"\btorch\.cuda\b|(?<=[\"'])cuda(?=[\"':])|(?<=[\"'])nccl(?=[\"'])|\.cuda\(\)")


def of_expression(document: Document, entry: Entry, style: Rename) -> Hit | None:
    if not _EXPRESSION.match(entry.value) or not _WORDS.search(entry.value):
        return None
    target = document.session.target
    words = {"torch.cuda": target.namespace, "cuda": target.device, "nccl": target.backend}
    words[".cuda()"] = f'.to("{target.device}")'
    found = [*_WORDS.finditer(document.text, entry.start, entry.end)]
    edits = tuple((match.start(), match.end(), words[match[0]]) for match in found)
    values = named(name=entry.name, new=", ".join(dict.fromkeys(words[match[0]] for match in found)))
    writes = entry.exact and style.one_world and ".cuda()" not in entry.value
    return Hit((entry.start, entry.end), "expression", code="PRT830", values=values, edits=edits if writes else ())
