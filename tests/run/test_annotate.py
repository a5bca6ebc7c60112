"""Comments above what a person has to port: where they stand, and in which letters."""

from __future__ import annotations

import pytest

from porter.finding import Finding, apply
from porter.run.annotate import remarks


def annotated(data: bytes, line: int, text: str = "text") -> bytes:
    found = Finding("x.py", line, 1, "PRT110", "why")
    return apply(data, remarks(data, [found], lambda finding, lang: text, "zh"))


@pytest.mark.parametrize(
    ("encoding", "written"),
    [("utf-8", "# PRT110: 改用 npu"), ("gbk", "# PRT110: 改用 npu"), ("ascii", r"# PRT110: \u6539\u7528 npu")],
)
def test_what_the_encoding_of_a_file_has_no_letters_for(encoding, written):
    got = annotated(f"# coding: {encoding}\nx.cuda()\n".encode(encoding), 2, "改用 npu")
    assert got.decode(encoding) == f"# coding: {encoding}\n{written}\nx.cuda()\n"
    assert annotated(got, 3, "改用 npu") == got


def test_what_the_user_told_porter_stays_with_its_statement():
    data = b"y = 1\n# porter: ignore[PRT101] measured\nx.cuda()\n"
    got = annotated(data, 3)
    assert got == b"y = 1\n# PRT110: text\n# porter: ignore[PRT101] measured\nx.cuda()\n"
    assert annotated(got, 4) == got
    other = b"# about the next line\nx.cuda()\n"
    assert annotated(other, 2) == b"# about the next line\n# PRT110: text\nx.cuda()\n"


def test_of_a_text_that_is_no_python_nothing_is_known():
    assert annotated(b"x = (\n", 1) == b"x = (\n"
    assert annotated(b"# coding: nothing\nx.cuda()\n", 2) == b"# coding: nothing\nx.cuda()\n"
