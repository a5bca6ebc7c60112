"""pip's requirement files: one requirement or option to a line, which a backslash continues."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from porter.text import packages
from porter.text.document import Document, TextHit

MARK = "#"
_LOGICAL = re.compile(r"(?:[^\r\n\\]|\\(?!\r?\n)|\\\r?\n)+")
_CLONED = re.compile(r"(?:-e[ \t]+|--editable[ \t=]+)?git\+\w+://(?=\S*$)\S*?/([\w-]+)(?:\.git)?(?:[@#]|$)")
_FIXED = re.compile(r"--hash|^[\w.-]+[ \t]*=(?!=)")  # held by a checksum, or not as pip has it
_COMMENT = re.compile(r"(?:^|[ \t])#.*")


@dataclass(frozen=True, slots=True)
class Line:
    start: int  # without indent
    end: int  # without comment
    last: int  # with it
    text: str


def read(document: Document) -> list[Line]:
    """Every line that is no comment."""
    lines = []
    for found in _LOGICAL.finditer(document.text):
        code = _COMMENT.sub("", found[0])
        bare = code.strip()
        if bare:
            start = found.start() + len(code) - len(code.lstrip())
            lines.append(Line(start, start + len(bare), found.end(), bare))
    return lines


def look(document: Document, lines: list[Line]) -> Iterator[TextHit]:
    wanted = []
    for line in lines:
        yield from packages.indexes(document, line.start, line.end)
        if found := _CLONED.match(line.text):
            start = line.start + found.start(1)
            wanted.append(packages.wanted(document.text, start, line.start + found.end(1)))
            continue
        if line.text[0] in "-./" or "://" in line.text.partition("@")[0].partition("#")[0]:
            continue  # an option, a folder, a wheel
        made = packages.wanted(document.text, line.start, line.end, locked=_FIXED.search(line.text) is not None)
        if made is None:
            continue
        indent = document.indent(line.start)
        head, tail = f"{document.newline}{indent}torch-npu==", f" {made.marker}" if made.marker else ""
        more = (line.last, head, tail) if not line.text.endswith("\\") else None
        wanted.append(packages.wanted(document.text, line.start, line.end, locked=made.locked, more=more))
    yield from packages.hits(document, [w for w in wanted if w is not None])


def same(before: list[Line], after: list[Line]) -> bool:
    """Names, extras, markers and options stay; versions and addresses may change, and torch-npu may come in."""
    known = {line.text for line in before}
    kept = [line for line in after if not line.text.startswith("torch-npu==") or line.text in known]
    return [_shape(line.text) for line in before] == [_shape(line.text) for line in kept]


def _shape(text: str) -> str:
    text = re.sub(r"(?<=[/+])(?:cu\d+|cpu)\b", "", text)
    return re.sub(r"(^(?:py)?torch\w*(?:\[[^\]]*\])?[ \t]*(?:===?|~=)[ \t]*)\d[\w.+!-]*", r"\1", text)
