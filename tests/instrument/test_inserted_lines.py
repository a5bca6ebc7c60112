"""Inserted lines come out again to the byte, whatever the file looks like and whatever the user wrote since."""

from __future__ import annotations

import ast

import pytest
from drawn import examples
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from porter.finding import apply
from porter.instrument.marks import Changed, Crowded, Line, insertion, insertions, renewed, without
from porter.python.source import Source

BOM = b"\xef\xbb\xbf"
LINES = [
    "x = 1",
    "# a comment",
    "",
    "if x:\n{i}y = 2\n{i}z = [\n{i}  1,\n{i}]",
    "def f():\n{i}return 1",
    's = "é # porter"',
]


@st.composite
def files(draw) -> bytes:
    indent = draw(st.sampled_from(["    ", "\t", "  "]))
    newline = draw(st.sampled_from(["\n", "\r\n", "\r"]))
    text = "\n".join(draw(st.lists(st.sampled_from(LINES), min_size=1, max_size=6))).replace("{i}", indent)
    end = draw(st.sampled_from(["", "\n", "\n\n", "  # end"]))
    return draw(st.sampled_from([b"", BOM])) + (text + end).replace("\n", newline).encode()


def statements(data: bytes) -> list[ast.stmt]:
    return [node for node in ast.walk(ast.parse(Source(data).utf8)) if isinstance(node, ast.stmt)]


def put_in(data: bytes, lines: list[Line]) -> bytes:
    source = Source(data)
    changes, _ = insertions(source, lines)
    return apply(data, source.stored.edits(tuple(changes)))


@pytest.mark.slow
@given(files(), st.data())
@settings(max_examples=examples(200), deadline=None)
def test_what_is_put_in_comes_out_to_the_byte(data: bytes, draw: st.DataObject) -> None:
    known = statements(data)
    assume(known)
    chosen = draw.draw(st.lists(st.tuples(st.sampled_from(known), st.booleans()), min_size=1, max_size=4))
    lines = [Line(f"recorder.call({n})", statement, below) for n, (statement, below) in enumerate(chosen)]
    after = put_in(data, lines)
    assert ast.parse(Source(after).utf8) and after != data
    assert without(after) == data
    assert apply(after, renewed(after, [])) == data


@given(files(), st.data())
@settings(max_examples=examples(100), deadline=None)
def test_lines_are_exchanged_for_others(data: bytes, draw: st.DataObject) -> None:
    known = statements(data)
    assume(known)
    statement, other = (draw.draw(st.sampled_from(known)) for _ in range(2))
    before = put_in(data, [Line("recorder.one()", statement)])
    source = Source(data)
    added = [insertion(source, Line("recorder.two()", other, below=draw.draw(st.booleans())))]
    after = apply(before, renewed(before, added))
    assert without(after) == data
    assert b"one()" not in after and after.count(b"two()") == 1
    assert renewed(after, added) == ()  # a second time changes nothing


def test_the_users_own_edits_stay() -> None:
    data = b"a = 1\nb = 2\nc = 3\n"
    after = put_in(data, [Line("recorder.call()", statements(data)[1])])
    edited = after.replace(b"a = 1", b"a = 10\nextra = 0").replace(b"c = 3", b"    # gone") + b"d = 4\n"
    assert without(edited) == b"a = 10\nextra = 0\nb = 2\n    # gone\nd = 4\n"


def test_lines_below_the_last_one_of_a_file_without_a_newline() -> None:
    data = b"a = 1\nb = 2"
    after = put_in(data, [Line("recorder.end()", statements(data)[1], below=True)])
    assert not after.endswith(b"\n") and without(after) == data
    assert without(after + b"\nc = 3\n") == b"a = 1\nb = 2\nc = 3\n"  # written below it since


@pytest.mark.parametrize(
    "change", [(b"call(1)", b"call(2)"), (b"recorder", b"other"), (b"instrument ", b"instrument  ")]
)
def test_a_line_that_somebody_changed_is_told(change: tuple[bytes, bytes]) -> None:
    data = b"a = 1\nb = 2\n"
    after = put_in(data, [Line("recorder.call(1)", statements(data)[1])])
    with pytest.raises(Changed) as changed:
        without(after.replace(*change))
    assert changed.value.line == 2


def test_text_that_only_quotes_a_mark_is_no_line_of_ours() -> None:
    data = b's = """\nx  # porter: instrument 123456\n"""\n'
    assert without(data) == data


@pytest.mark.parametrize("data", [b"a = 1; b = 2\n", b"if a: b = 2\n"])
def test_a_statement_that_shares_its_line_is_refused(data: bytes) -> None:
    source, last = Source(data), max(statements(data), key=lambda node: node.col_offset)
    with pytest.raises(Crowded):
        insertion(source, Line("recorder.call()", last))
