"""Every fixture that is edited, with a comment at each bracket and comma: no edit takes one with it, and none costs the file its other edits."""

from __future__ import annotations

import io
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest
from cases import CASES, beside, called, session
from drawn import share

from porter.analysis.analyse import analyse

PARTS = 8
FORMS = {"behind": "  # c{}\n    ", "above": "\n    # c{}\n    "}


def edited(case: Path) -> bool:
    ports = [port for stem in ("after", "review") if (port := beside(case, stem)).exists()]
    return any(port.read_bytes() != beside(case, "before").read_bytes() for port in ports)


CODE = [case for case in CASES if beside(case, "before").suffix == ".py" and edited(case)]
FSTRING = {getattr(tokenize, "FSTRING_START", None): 1, getattr(tokenize, "FSTRING_END", None): -1}  # since Python 3.12


def commented(text: str, form: str) -> str:
    """The text with `form` behind each opening bracket and each comma within brackets, where its line goes on."""
    lines = text.splitlines(keepends=True)
    for number, ((row, column), _) in reversed([*enumerate(places(text))]):
        line = lines[row - 1]
        lines[row - 1] = line[:column] + form.format(number) + line[column:].lstrip(" ")
    return "".join(lines)


def places(text: str) -> Iterator[tuple[tuple[int, int], str]]:
    tokens = [*tokenize.generate_tokens(io.StringIO(text).readline)]
    depth = strings = 0
    for token, following in zip(tokens, tokens[1:], strict=False):
        strings += FSTRING.get(token.type, 0)
        if token.type == tokenize.OP and not strings:
            depth += (token.string in "([{") - (token.string in ")]}")
            if depth and token.string in "([{," and following.type not in (tokenize.NL, tokenize.COMMENT):
                yield token.end, token.string


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("part", range(PARTS))
def test_nothing_is_refused(part: int, form: str) -> None:
    refused, read = dict[str, object](), 0
    cases = share(CODE[part::PARTS], 2, [*FORMS].index(form))
    for case in cases:
        text = beside(case, "before").read_text(encoding="utf-8", errors="surrogateescape")
        try:
            with_comments = commented(text, FORMS[form])
            compile(with_comments, "x", "exec", dont_inherit=True)
        except (SyntaxError, ValueError, tokenize.TokenError):
            continue  # a fixture about such a text, or a string with lines of its own
        result = analyse(called(case), with_comments.encode("utf-8", "surrogateescape"), session(case))
        refused |= {case.name: f for f in result.findings if f.code == "PRT003"}
        read += 1
    assert not refused and read > len(cases) // 2
