"""Edits of an edited text, as edits of the first one."""

from __future__ import annotations

from drawn import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from porter.distribute.compose import composed
from porter.finding import Change, apply


@st.composite
def edits(draw, data: bytes) -> tuple[Change, ...]:
    cuts = sorted(draw(st.lists(st.integers(0, len(data)), max_size=6, unique=True)))
    pairs = list(zip(cuts[::2], cuts[1::2]))
    return tuple(Change(start, end, draw(st.binary(max_size=4))) for start, end in pairs)


@given(st.binary(max_size=30), st.data())
@settings(max_examples=examples(500), deadline=None)
def test_one_list_does_what_two_did(data: bytes, draw: st.DataObject) -> None:
    first = draw.draw(edits(data))
    middle = apply(data, first)
    second = draw.draw(edits(middle))
    both = composed(data, first, second)
    assert apply(data, both) == apply(middle, second)
    assert all(one.end <= other.start for one, other in zip(both, both[1:]))


def test_lines_put_in_at_one_place_keep_their_order() -> None:
    first = (Change(4, 4, b"B\n"),)
    middle = apply(b"one\ntwo\n", first)
    second = (Change(4, 4, b"A\n"), Change(6, 6, b"C\n"))
    assert apply(b"one\ntwo\n", composed(b"one\ntwo\n", first, second)) == apply(middle, second)
