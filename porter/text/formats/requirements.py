"""pip's requirement files: one requirement or option to a line, which a backslash continues."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from porter.regex import lazy
from porter.rulebook.table import load
from porter.text.document import Document
from porter.text.installable import older_python
from porter.versions import canonical

MARK, READS = "#", "requirements"
_LOGICAL = lazy(r"(?:[^\r\n\\]|\\(?!\r?\n)|\\\r?\n)+")
_COMMENT = lazy(r"(?:^|[ \t])#.*")


@dataclass(frozen=True, slots=True)
class Line:
    start: int  # without indent
    end: int  # without comment
    last: int  # with it
    text: str


def read(document: Document) -> list[Line]:
    """Every line that is no comment."""
    lines = []
    for match in _LOGICAL.finditer(document.text):
        code = _COMMENT.sub("", match[0])
        bare = code.strip()
        if bare:
            start = match.start() + len(code) - len(code.lstrip())
            lines.append(Line(start, start + len(bare), match.end(), bare))
    return lines


def same(before: list[Line], after: list[Line]) -> bool:
    """Whether an edit changed no more than it may: the version of torch and its kin, or of a package that not every version of
    runs on NPUs, `+cu118` and `/cu118`, a line for torch-npu, the Pythons of a part of Python."""
    old_lines = {line.text for line in before}
    kept = [line for line in after if not line.text.startswith("torch-npu==") or line.text in old_lines]
    return [_shape(line.text) for line in before] == [_shape(line.text) for line in kept]


def _shape(text: str) -> str:
    name = canonical(text.partition("=")[0].strip())
    text = text.removesuffix(older_python(name))
    text = re.sub(r"(?<=[/+])(?:cu\d+|cpu)\b", "", text)
    return _version().sub(r"\1", text)


@cache
def _version() -> re.Pattern[str]:
    """Behind the name of what an edit may raise."""
    rows = load().packages.values()
    names = sorted({re.escape(name).replace(r"\-", "[-_.]") for row in rows if row.since for name in row.names})
    name = "|".join([r"(?:py)?torch\w*", *names])
    return re.compile(rf"(?i)(^(?:{name})(?:\[[^\]]*\])?[ \t]*(?:===?|~=)[ \t]*)\d[\w.+!-]*")
