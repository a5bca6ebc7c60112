"""What a script installs: builds of torch for CUDA, packages that only GPUs can use."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import pairwise

from porter.engine.rule import Hit, TextRule, named
from porter.engine.session import RuleSet
from porter.files.kinds import DOCKERFILE, kind_of
from porter.rulebook.table import Package
from porter.text import packages
from porter.text.document import Document
from porter.text.shells.script import Command, Script, Word

_BUILD = re.compile(r"[\"']?torchtext(?:==|~=|>=)[\w.]*(\+cu\d+)")
_TORCHS = frozenset({"torch", "torchvision", "torchaudio"})
_INDEX = re.compile(r"https?://[\w.]*pytorch\.org/whl/(?:nightly/|test/)?(cu\d+)\b|torch_stable\.html")
_CUDA = re.compile(
    r"(?i)^(?:nvidia-(?:cuda|cudnn|cublas|cufft|cufile|curand|cusolver|cusparse|cusparselt|nccl|nvtx|nvjitlink|nvshmem"
    r"|container|docker)[\w-]*|nvidia-(?:driver|utils|pyindex)[\w-]*|[\w-]+-cu\d{2,3}(?:-\w+)?"
    r"|cupy(?:-cuda\w+)?|cudatoolkit(?:-dev)?"
    r"|pytorch-cuda|cuda-[\w.-]+|cuda|cudnn|nccl|libcudnn\S*|libnccl\S*"
    r"|tensorrt|onnxruntime-gpu|tensorflow-gpu|faiss-gpu|pycuda)$"
)
_STAGE = re.compile(r"(?mi)^[ \t]*FROM[ \t]")
_NAME = re.compile(r"[A-Za-z][\w.-]*")
_VERSION = "0123456789."
_INSTALLERS = frozenset({"pip", "conda", "mamba", "micromamba", "apt", "apt-get", "yum", "dnf"})


class Installs(TextRule):
    code = "PRT841"
    reads = "script"

    def look(self, document: Document, script: Script) -> Iterator[Hit]:
        foreign = _foreign_stages(document)
        for command in script.commands:
            if (at := _installed(command)) is not None and not any(command.start in stage for stage in foreign):
                yield from _found(document, command.words[at:])


def _foreign_stages(document: Document) -> list[range]:
    """Of a Dockerfile, which builds one image after another: those for another accelerator. Branches of a script are not told
    apart, and speak for themselves."""
    if kind_of(document.path) != DOCKERFILE:
        return []
    starts = [0, *(found.start() for found in _STAGE.finditer(document.text)), len(document.text)]
    stages = [range(start, end) for start, end in pairwise(starts)]
    return [stage for stage in stages if packages.for_others(document.text[stage.start : stage.stop])]


def _installed(command: Command) -> int | None:
    """Where the packages of `pip install`, `python -m pip install`, `uv pip install`, `conda create` begin."""
    known = command.words[0].name.rstrip(_VERSION) == "pip_install"
    for at, word in enumerate(command.words):
        if at and known and word.value in ("install", "create", "add"):
            return at + 1
        known = known or word.name.rstrip(_VERSION) in _INSTALLERS
    return None


@lru_cache(maxsize=2)
def _rows(rules: RuleSet) -> dict[str, Package]:
    """Package rows that say something, by the name that is installed."""
    found: dict[str, Package] = {}
    for imported, row in rules.tables.packages.items():
        if row.why and "." not in imported:  # of a package with a part for GPUs, the rest may be what is wanted
            for name in (*row.names, imported):
                found.setdefault(name.lower().replace("_", "-"), row)
    return found


def _found(document: Document, words: tuple[Word, ...]) -> Iterator[Hit]:
    yield from _versions(document, words)
    rows = _rows(document.session.rules)
    skip = False
    for word in words:
        text, value, skip = word.text, skip, False
        if found := _BUILD.match(text):
            start, end = word.start + found.start(1), word.start + found.end(1)
            values = named(old=found[1], npu=document.session.target.torch_npu)
            yield Hit((word.start, word.end), "local", code="PRT841", values=values, edits=((start, end, ""),))
        elif (found := _INDEX.search(text)) and text.strip("\"'").endswith(".whl"):
            # the file's name, too, says what it was built for
            target = document.session.target
            torch = ".".join(map(str, target.torch))
            values = named(old=found[1] or found[0], torch=torch, npu=target.torch_npu)
            yield Hit((word.start, word.end), "wheel", code="PRT841", values=values)
        elif found:
            start, end = word.start + found.start(1), word.start + found.end(1)
            edits = ((start, end, "cpu"),) if found[1] else ()
            values = named(old=found[1], new="cpu") if edits else named(old=found[0])
            yield Hit(
                (word.start, word.end), "index" if edits else "foreign", code="PRT841", values=values, edits=edits
            )
        elif value:
            continue
        elif text.startswith("-"):
            skip = text in (
                "-f",
                "--find-links",
                "-r",
                "-c",
                "-i",
                "--index-url",
                "--extra-index-url",
                "-n",
                "-t",
                "--target",
            )
        elif name := _NAME.match(text.strip("\"'")):
            yield from _package(word, name[0].lower().replace("_", "-"), rows)


def _versions(document: Document, words: tuple[Word, ...]) -> Iterator[Hit]:
    """Of torch and what belongs to it, as a list of requirements has them."""
    for word in words:
        quoted = word.text.startswith(('"', "'"))
        want = packages.wanted(document.text, word.start + quoted, word.end - quoted)
        if want is not None and want.name in _TORCHS:
            yield from packages.hits(document, [want])


def _package(word: Word, name: str, rows: Mapping[str, Package]) -> Iterator[Hit]:
    if (row := rows.get(name)) is not None:
        values = (("name", name),)
        yield Hit(
            (word.start, word.end), row.why, code=row.code, values=values, severity=row.severity, effort=row.effort
        )
    elif _CUDA.match(name):
        yield Hit((word.start, word.end), "default", code="PRT842", values=(("name", name),))
