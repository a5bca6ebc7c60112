"""A place of the source for a terminal: the mark stands under it, in any width and whatever the line holds."""

from __future__ import annotations

import pytest
from drawn import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from porter.finding import Change, Finding
from porter.report.sanitise import line as visible
from porter.report.snippet import snippet
from porter.report.source import Text
from porter.terminal import columns, plain


def found(line: int, column: int, end_column: int, *edit: tuple[int, int, str], end_line: int = 0) -> Finding:
    changes = tuple(Change(start, end, new.encode()) for start, end, new in edit)
    return Finding(
        "a.py", line, column, "PRT101", "move", (), end_line or line, end_column, "wrong", "auto", edit=changes
    )


def renamed(source: str, new: str) -> tuple[int, int, str]:
    start = source.encode().index(b"cuda")
    return start, start + len("cuda"), new


def shown(source: str | bytes, finding: Finding, width: int = 80) -> list[str]:
    data = source.encode() if isinstance(source, str) else source
    return plain(snippet(Text(data), finding, width)).splitlines()


def test_the_line_and_a_mark_under_the_place():
    assert shown("a\n  b = cuda()\n", found(2, 7, 11)) == ["2 |   b = cuda()", "  |       ^^^^"]


def test_the_line_that_an_edit_takes_away_and_the_one_it_puts_there():
    rows = shown("b = cuda()\r\nc\r\n", found(1, 5, 9, (4, 8, "npu")))
    assert rows == ["1 - b = cuda()", "        ^^^^", "  + b = npu()"]


def test_tabs_and_wide_characters_keep_the_mark_under_the_place():
    source = '\tx = "设备"; y = cuda()\n'
    rows = shown(source, found(1, 16, 20, renamed(source, "npu")))
    assert rows == ['1 -     x = "设备"; y = cuda()', " " * 24 + "^^^^", '  +     x = "设备"; y = npu()']
    assert columns(rows[0].partition("cuda")[0]) == rows[1].index("^")
    joined = shown("e\u0301 = cuda()\n", found(1, 6, 10))
    assert columns(joined[0].partition("cuda")[0]) == joined[1].index("^") == 8


def test_what_a_terminal_would_obey_is_spelled_out():
    source = "x = '\x1b[31m\u202e\x07'; cuda()\n"
    rows = shown(source, found(1, 16, 20, renamed(source, "npu\x1b")))
    assert rows[0] == "1 - x = '\\x1b[31m\\u202e\\x07'; cuda()" and rows[2].endswith("npu\\x1b()")
    assert rows[0].index("cuda") == rows[1].index("^")


def test_a_long_line_is_cut_around_the_place_and_its_counterpart_alike():
    source = "y" * 50_000 + " = cuda(" + "z" * 50_000 + ")\n"
    rows = shown(source, found(1, 50_004, 50_008, (50_003, 50_007, "npu")), 60)
    assert [columns(row) for row in rows] == [60, rows[1].index("^") + 4, 60]
    assert rows[0].startswith("1 - …yyy") and rows[2].startswith("  + …yyy") and rows[0].endswith("zz…")
    assert rows[0].index("cuda") == rows[1].index("^") == rows[2].index("npu")


def test_a_place_of_several_lines_is_marked_on_the_first_and_its_edit_shown_where_it_is():
    source = "x = f(\n    1,\n    2,\n).cuda()\n"
    rows = shown(source, found(1, 5, 8, renamed(source, "npu"), end_line=4))
    assert rows == ["1 | x = f(", "  |     ^^", ".", "4 - ).cuda()", "  + ).npu()"]


def test_lines_that_an_edit_puts_in_stand_above_the_one_they_precede():
    rows = shown("a\nb\n", found(2, 1, 2, (2, 2, "new\n")))
    assert rows == ["  + new", "2 | b", "  | ^"]
    behind = shown("a\nb\n", found(1, 1, 2, (4, 4, "new\n")))
    assert behind == ["1 | a", "  | ^", ".", "  + new"]


def test_of_a_long_edit_the_beginning_is_shown():
    source = "".join(f"line{n}\n" for n in range(20))
    rows = shown(source, found(1, 1, 4, (0, len(source), "".join(f"new{n}\n" for n in range(20)))))
    assert [row.strip(" .") for row in rows].count("") == 2 and rows[-2] == "   + new5" and len(rows) == 15


@pytest.mark.parametrize("finding", [found(3, 1, 1), found(0, 1, 1)])
def test_a_line_that_is_not_there_has_none(finding):
    assert shown("a\nb\n", finding) == []


def test_the_mark_of_an_encoding_is_no_character():
    assert shown(b"\xef\xbb\xbfcuda()\n", found(1, 1, 5)) == ["1 | cuda()", "  | ^^^^"]


CHARACTERS = st.sampled_from([*"ab (", "\t", "设", "é", "e\u0301", "\x1b", "\u202e", "\x00", "😀"])


@pytest.mark.slow
@given(
    st.lists(CHARACTERS, max_size=150).map("".join),
    st.lists(CHARACTERS, min_size=1, max_size=30).map("".join).filter(lambda text: text[0] != "\u0301"),
    st.lists(CHARACTERS, max_size=150).map("".join),
    st.sampled_from([40, 80, 100]),
    st.booleans(),
)
@settings(max_examples=examples(300))
def test_the_mark_is_under_the_place_and_nothing_is_wider_than_the_screen(before, place, behind, width, edited):
    source = f"{before}{place}{behind}\n"
    start = len(before.encode())
    edit = [(start, start + len(place.encode()), "npu")] if edited else []
    rows = shown(source, found(1, len(before) + 1, len(before + place) + 1, *edit), width)
    assert len(rows) == 2 + (edited and place != "npu")
    assert all(columns(row) <= width and row == visible(row) for row in rows)
    at = rows[1].index("^")
    marked = _between(rows[0], at, at + rows[1].count("^")).replace(" ", "").removesuffix("…")
    wanted = visible(place.replace("\t", "")).replace(" ", "")
    assert wanted.startswith(marked) and (marked or not wanted or columns(place) > width - 10)


def _between(row: str, start: int, end: int) -> str:
    """What stands in these columns; an accent in that of the character it joins."""
    return "".join(c for n, c in enumerate(row) if start <= columns(row[:n]) - (columns(c) == 0) < end)
