"""What a README tells people to run: cards chosen by CUDA's variable, builds and packages for CUDA, tools and Python for GPUs."""

from __future__ import annotations

import re
from collections.abc import Iterator

from porter.engine.rule import TOGETHER, Hit, TextRule
from porter.project.roads import leads
from porter.regex import lazy
from porter.rulebook.table import Tables, any_of
from porter.text.document import Document

_WORDS = {
    "cards": "page-cards", "install": "page-install", "package": "page-package", "container": "page-container",
    "cluster": "page-cluster", "tool": "page-tool", "python": "page-python",
}  # fmt: skip
_OF_NPUS = (b"torch_npu", b"ASCEND_")  # a page that says how it is done on NPUs says GPUs beside it
_RECORDS = lazy(
    r"(?i)change|history|news|release|contribut|issue_template|conduct"
)  # tells what was, or of other things
_TOOLKIT = "cudatoolkit"  # which numba asks for as well
_PACKAGE = lazy(r"[ \t/:]")  # `clone https://github.com/NVIDIA/apex`


class PageWords(TextRule):
    code = "PRT860"
    reads = "page"

    def __init__(self, tables: Tables):
        self._words = {why: re.compile(any_of(kind)) for why, kind in _WORDS.items()}
        self._cuda_alone = re.compile(any_of("for-cuda-alone"))

    def look(self, document: Document, text: str) -> Iterator[Hit]:
        name, data = document.path.rpartition("/")[2], document.data
        session = document.session
        if _RECORDS.search(name) or any(word in data for word in _OF_NPUS):
            return
        if not leads(document.path, data, session.facts.roads):
            return
        for why, words in self._words.items():
            if why == "python" and session.target.shims:
                continue  # works as it is, in a program that imports the shim
            for match in words.finditer(text):
                if why == "python" and self._cuda_alone.search(_commented(text, match.start())):
                    continue
                if why == "install" and match[0] == _TOOLKIT and _is_for_numba(text, match.start()):
                    continue
                name = _PACKAGE.split(match[0])[-1].partition("-cuda")[0]
                named = (("name", name),) if why == "package" else ()
                yield Hit(match.span(), why, values=(*named, (TOGETHER, why + name if named else why)))


def _is_for_numba(text: str, at: int) -> bool:
    """Whether a line asks for CUDA because of numba's kernels: those are told where they stand, and no torch takes it up."""
    end = text.find("\n", at)
    line = text[text.rfind("\n", 0, at) + 1 : end if end >= 0 else len(text)].lower()
    return "numba" in line and "torch" not in line


def _commented(text: str, at: int) -> str:
    """The line of comment that a place stands in, with those above it; nothing where the line is no comment."""
    end = text.find("\n", at)
    end = top = end if end >= 0 else len(text)
    while top > 0:
        start = text.rfind("\n", 0, top) + 1
        if not text[start:top].lstrip().startswith("#"):
            break
        top = start - 1
    return text[top + 1 : end]
