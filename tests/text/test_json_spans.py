"""JSON with places: what is no JSON is said with the line, also where values are passed over unread."""

from __future__ import annotations

import pytest

from porter.errors import Unreadable
from porter.text import jsonspans

UNREAD = frozenset({"outputs"})


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ('{"a": "\\ud8zz"}', 1, "a string with a broken escape"),
        ('{"a":\n"b', 2, "a string that does not end"),
        ("[1, 2", 1, "ends in the middle"),
        ("[1 2]", 1, "',' or ']' is missing"),
        ("{1: 2}", 1, "a key is missing"),
        ('{"a" 2}', 1, "':' is missing"),
        ('{"a": 2}\n}', 2, "more after the end"),
        ('{"a": ?}', 1, "'?' is no value"),
        ('{"outputs":\n [1, {"a": 2}', 2, "ends in the middle"),
        ('{"outputs":\n [1, {"a": 2]}', 2, "']' closes what it did not open"),
        ('{"outputs": ["a\n', 1, "a string that does not end"),
    ],
)
def test_what_is_no_json(text: str, line: int, said: str) -> None:
    with pytest.raises(Unreadable) as caught:
        jsonspans.parse(text, UNREAD)
    assert (caught.value.line, caught.value.error) == (line, f"JSON: {said}")


def test_what_is_unread_ends_where_its_bracket_does() -> None:
    text = '{"outputs": [{"a": "}]"}, [1]], "b": 3, "outputs": "plain"}'
    tree = jsonspans.parse(text, UNREAD)
    assert [(name.value, text[value.start : value.end]) for name, value in tree.members] == [
        ("outputs", '[{"a": "}]"}, [1]]'),
        ("b", "3"),
        ("outputs", '"plain"'),
    ]
    assert not tree.members[0][1].items and tree.get("outputs").value == "plain"


@pytest.mark.parametrize("word", ["LR", "BATCH_SIZE_2"])
def test_what_is_filled_in_later_is_a_value(word: str) -> None:
    text = f'{{"a": {word}, "device": "cuda"}}'
    assert [(name.value, value.value) for name, value in jsonspans.parse(text).members] == [
        ("a", word),
        ("device", "cuda"),
    ]


@pytest.mark.parametrize("word", ["A", "Batch", "batch_size", "None"])
def test_another_word_is_none(word: str) -> None:
    with pytest.raises(Unreadable):
        jsonspans.parse(f'{{"a": {word}}}')
