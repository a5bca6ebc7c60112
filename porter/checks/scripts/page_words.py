"""What a README tells people to run: cards chosen by CUDA's variable, builds and packages for CUDA, tools and Python for GPUs, environments
with an old Python."""

from __future__ import annotations

import re
from collections.abc import Iterator

from porter.engine.rule import TOGETHER, Hit, TextRule, named
from porter.project.roads import leads
from porter.regex import lazy
from porter.rulebook.table import Tables, any_of
from porter.text.document import Document
from porter.text.shells.old_images import old_environments
from porter.versions import release

_WORDS = {
    "cards": "page-cards", "install": "page-install", "torch": "page-torch", "package": "page-package", "container": "page-container",
    "cluster": "page-cluster", "tool": "page-tool", "python": "page-python",
}  # fmt: skip
# every match has one of them, and none is longer than its line: rules/hints.toml, kinds that begin with page-
_ONE_OF = tuple("CUDA_ cuda gpu nvidia NVIDIA/ nccl /cu +cu flash xformers mamba causal torch=".split())
_OF_NPUS = (b"torch_npu", b"ASCEND_")  # a page that says how it is done on NPUs says GPUs beside it
_RECORDS = lazy(
    r"(?i)change|history|news|release|contribut|issue_template|conduct"
)  # tells what was, or of other things
_INSTALLS = lazy(r"(?i)install|\bwhl\b|\badd\b|require|[ \t]-[fi][ \t]")  # else a line tells what somebody had
_WIDEST, _LINES = 2_000, 20  # characters beside a word, and lines of its command, that are looked at
_BETWEEN_PACKAGES = lazy(r"[\s\"']+")
_ASKS = lazy(r"\b(?:list|show|search)[ \t]+\Z")
_OPTIONAL = lazy(r"(?i)\boptional|可选")
# what a tensor prints up to its device: `tensor([[1., -inf]], device='`
_NUMBERS = lazy(r"tensor\([\[\](),\s\d.einaf+-]*(?:device=[\"']?)?")
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
        for span, said in old_environments(text, session.target.torch, is_image=False):
            yield Hit(span, "environment", values=(*named(**said), (TOGETHER, "environment")))
        lines = list(_lines(text))
        for why, words in self._words.items():
            if why == "python" and session.target.shims:
                continue  # works as it is, in a program that imports the shim
            for match in (match for start, end in lines for match in words.finditer(text, start, end)):
                if why == "python" and (
                    self._cuda_alone.search(_commented(text, match.start())) or _is_output(text, match.start())
                ):
                    continue
                if why == "install" and not _installs_torch(text, match):
                    continue
                if why == "torch":
                    yield from self._pinned(document, text, match)
                    continue
                name = _PACKAGE.split(match[0])[-1].partition("-cuda")[0]
                about = (("name", name),) if why == "package" else ()
                told = "optional" if about and _OPTIONAL.search(_heading(text, match.start())) else why
                yield Hit(match.span(), told, values=(*about, (TOGETHER, told + name if about else told)))

    def _pinned(self, document: Document, text: str, match: re.Match[str]) -> Iterator[Hit]:
        """`pip install torch==1.13.1`; where the line asks for a build for CUDA, that is said of it."""
        target, old = document.session.target, match[0].rpartition("=")[2]
        is_for_cuda = self._words["install"].search(_around(text, match, "\n")) is not None
        numbers = release(old.rstrip("."))
        if numbers and not is_for_cuda and numbers != target.torch[: len(numbers)]:
            values = named(old=old, new=".".join(map(str, target.torch)), npu=target.torch_npu)
            yield Hit(match.span(), "torch", values=(*values, (TOGETHER, "torch")))


def _lines(text: str) -> Iterator[tuple[int, int]]:
    """The lines in which a match can stand. Pages are long, and few of their lines speak of GPUs."""
    places = {place for word in _ONE_OF for place in _places(text, word)}
    last = -1
    for place in sorted(places):
        if place > last:
            last = text.find("\n", place)
            last = last if last >= 0 else len(text)
            yield text.rfind("\n", 0, place) + 1, last


def _places(text: str, word: str) -> Iterator[int]:
    place = text.find(word)
    while place >= 0:
        yield place
        place = text.find(word, place + 1)


def _installs_torch(text: str, match: re.Match[str]) -> bool:
    """Whether a build or a toolkit is installed for torch: numba has a `cudatoolkit`, too, `conda list cudatoolkit` asks for the one
    there is, and `torch2.0.0+cu118` may be what the authors tested with."""
    if match[0] == "cudatoolkit":
        if _ASKS.search(text, max(0, match.start() - _WIDEST), match.start()):
            return False
        line, paragraph = (_around(text, match, between).lower() for between in ("\n", "\n\n"))
        return "torch" in (line if "numba" in line else paragraph)
    if not match[0].startswith("+"):
        return True
    line = _around(text, match, "\n")
    start = text.rfind("\n", 0, match.start())
    package, pinned, version = text[max(start + 1, match.start() - _WIDEST) : match.start()].rpartition("==")
    is_its_own = pinned and not _BETWEEN_PACKAGES.search(version.strip())
    if is_its_own and not _BETWEEN_PACKAGES.split(package.rstrip())[-1].startswith("torch"):
        return False  # `"qwentts-cpp-python==0.3.1+cu130"`
    for _ in range(_LINES):
        if start <= 0 or text[start - 1] != "\\":
            break
        end, start = start, text.rfind("\n", 0, start)  # a command of several lines
        line += text[start + 1 : end]
    return _INSTALLS.search(line) is not None


def _is_output(text: str, at: int) -> bool:
    """Whether a place stands in a tensor as it is printed, `tensor([0.1, 0.2], device='cuda:0')`, or in a diff of other code."""
    start = max(0, at - _WIDEST)
    printed = text.rfind("tensor(", start, at)
    if printed >= 0 and text[printed - 1 : printed] != "." and _NUMBERS.fullmatch(text, printed, at):
        return True
    fence = text.rfind("\n```", 0, at)
    return fence >= 0 and text.startswith("```diff", fence + 1)


def _around(text: str, match: re.Match[str], between: str) -> str:
    first, last = max(0, match.start() - _WIDEST), match.end() + _WIDEST
    start, end = text.rfind(between, first, match.start()), text.find(between, match.end(), last)
    return text[start + 1 if start >= 0 else first : end if end >= 0 else last]


def _heading(text: str, at: int) -> str:
    """The heading of the section that a place stands in."""
    start = text.rfind("\n#", 0, at) + 1
    return text[start : text.find("\n", start)] if text.startswith("#", start) else ""


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
