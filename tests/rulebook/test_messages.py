"""What a finding says: one short line with the cure first; what more there is to know follows it."""

from __future__ import annotations

import re

from porter.rulebook import table
from porter.rulebook.schema import PLACEHOLDER
from porter.terminal import columns

MOST = 100  # columns, with eight for each name that is filled in
# turns that read as translated, or that make a reader guess what to do
BANNED = (
    "does the same there",
    "goes where they go",
    "is the question there",
    "the answer is no there",
    "操作不到 NPU",
)


def messages() -> dict[str, dict[str, str]]:
    rules = table.prose()["rules"]
    return {f"{code} {why}": text for code in sorted(rules) for why, text in sorted(rules[code]["messages"].items())}


def test_a_message_fits_a_line():
    long = [key for key, text in messages().items() if any(_width(words) > MOST for words in text.values())]
    assert long == []  # cut it: what follows a newline is told where there is room


def test_no_message_has_a_turn_that_is_hard_to_read():
    assert [key for key, text in messages().items() for words in text.values() if any(b in words for b in BANNED)] == []


def test_what_follows_a_message_is_prose():
    for key, text in messages().items():
        parts = [words.partition("\n") for words in text.values()]
        assert len({bool(more) for _, _, more in parts}) == 1, key  # in both languages or in none
        for first, _, more in parts:
            assert not re.search(r"(?<!\.\.)[.。]$", first), (key, first)  # no sentence with a full stop
            assert not more or more.endswith((".", "。")), (key, more)


def _width(text: str) -> int:
    return columns(PLACEHOLDER.sub("x" * 8, text.partition("\n")[0]))
