"""Blocks of whole lines, also of lines that are as long as the weights of a model."""

from __future__ import annotations

import io

import pytest

from porter.logs.reading import LONG, UNCOUNTED, blocks


@pytest.mark.parametrize("length", [LONG + 1, 5 * LONG, (1 << 20) + 3])
def test_a_long_line_is_cut_where_the_caller_says(length):
    data = b"a" * length + b"\n" + b"b\n"
    whole = b"".join(blocks(io.BytesIO(data), 1 << 24))
    assert whole == data
    cut = b"".join(blocks(io.BytesIO(data))).split(b"\n")
    assert max(map(len, cut)) <= LONG + len(UNCOUNTED) and b"".join(cut).replace(b"\x1e", b"") == b"a" * length + b"b"


def test_a_line_without_an_end():
    data = b"a" * (3 << 20)
    assert b"".join(blocks(io.BytesIO(data), 1 << 20)).replace(UNCOUNTED, b"") == data
