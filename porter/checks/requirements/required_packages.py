"""Finds what requirement files ask for: builds of torch, indexes of wheels, packages that only GPUs can use."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from porter.engine.rule import Hit, TextRule
from porter.regex import lazy
from porter.text import packages
from porter.text.document import Document
from porter.text.formats.requirements import Line
from porter.text.indexes import indexes

_PINNED = lazy(r"(?<!\S)[A-Za-z][\w.-]*={2,3}\d[\w.+!-]*(?!\S)")
_SPEC = lazy(r"(?:[=!~]=|[<>]=?)[ \t]*\d[^\"']*$")
_OPTION = lazy(r"[ \t]-")
_EDITABLE = lazy(r"(?:(?:-e|--editable)[ \t=]+)?")  # what may stand before a folder that is installed
_OF_CONDA = frozenset(
    {"cudatoolkit", "pytorch-cuda", "cudnn", "pyg"}
)  # packages that conda alone has, beside its pytorch
_LOCKED = lazy(r"--hash|^[\w.-]+[ \t]*=(?!=)")  # pinned by a hash, or a line of conda with one =


class RequiredPackages(TextRule):
    code = "PRT840"
    codes = ("PRT840", "PRT841", "PRT842", "PRT843")
    reads = "requirements"

    def look(self, document: Document, lines: list[Line]) -> Iterator[Hit]:
        if packages.for_others(document.text):
            return
        found = []
        for line in lines:
            yield from indexes(document, line.start, line.end)
            wheel = packages.WHEEL.match(line.text)
            if match := packages.CLONED.match(line.text) or wheel:
                yield from packages.built(document, wheel, line.start) if wheel else ()
                start = line.start + match.start(1)
                found.append(packages.wanted(document.text, start, line.start + match.end(1)))
                continue
            editable = _EDITABLE.match(line.text)
            folder = line.start + (editable.end() if editable else 0)
            if line.text[0] in "-." and packages.FOLDER.match(document.text, folder, line.end):
                found.append(packages.wanted(document.text, folder, line.end))
                continue
            if line.text[0] in "-./" or "://" in line.text.partition("@")[0].partition("#")[0]:
                found += _several(document, line)
                continue  # an option, a folder, a wheel
            requirement = packages.wanted(
                document.text, line.start, line.end, locked=_LOCKED.search(line.text) is not None
            )
            if requirement is None:
                found += _several(document, line)
                continue
            rest = document.text[requirement.end : line.end].strip()
            if rest.startswith(":"):
                continue  # prose, which pip cannot read: `PyTorch: 1.7`
            if rest and rest[0] not in "-=":
                found.append(_malformed(requirement, rest))
                continue
            indent = document.indent(line.start)
            head, tail = (
                f"{document.newline}{indent}torch-npu==",
                f" {requirement.marker}" if requirement.marker else "",
            )
            # where a line for torch-npu can be put, and the text before and behind its version
            more = (line.last, head, tail) if not line.text.endswith("\\") else None
            found.append(packages.wanted(document.text, line.start, line.end, locked=requirement.locked, more=more))
        several = [want for want in found if want is not None]
        names = {want.name for want in several}
        if "pytorch" in names and not names.isdisjoint(_OF_CONDA):  # `conda install --file`: it has no torch-npu
            several = [replace(want, kind="conda", more=None) for want in several]
        yield from packages.hits(document, several)


def _malformed(requirement: packages.Wanted, rest: str) -> packages.Wanted:
    """`torch">=1.7,<=1.9"`, which pip does not take: it asks for these versions all the same, and nothing is written beside it."""
    spec = rest.strip("\"'") if rest[0] in "\"'" and not requirement.spec else requirement.spec
    return replace(requirement, spec=spec if _SPEC.match(spec) else "", locked=True)


def _several(document: Document, line: Line) -> list[packages.Wanted | None]:
    """`torch==1.7.1 torchvision==0.8.2 -f ...`, as a command has it: pip takes one to a line, so that none is edited."""
    option = _OPTION.search(line.text)
    pins = list(_PINNED.finditer(line.text, 0, option.start() if option else len(line.text)))
    spans = [(line.start + match.start(), line.start + match.end()) for match in pins if len(pins) > 1]
    return [packages.wanted(document.text, start, end, locked=True) for start, end in spans]
