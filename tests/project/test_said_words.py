"""What is asked of many files for many names is answered by their words, and each file is read a few times alone."""

from __future__ import annotations

from porter.project.said_words import SaidWords

NAMES = [b"alpha", b"beta", b"alpha_beta", b"gamma", b"delta", b"epsilon", b"na\xc3\xafve", b"a-b"]
TEXT = b"alpha_beta(gamma)\n# na\xc3\xafve, a-b\n'x.delta'\n"
SAID = {b"alpha_beta", b"gamma", b"delta", b"na\xc3\xafve", b"a-b"}


def test_a_name_that_stands_as_a_word_is_never_missed() -> None:
    words = SaidWords(lambda path: TEXT, lambda path: TEXT)
    words.will_ask(NAMES)
    for _ in range(3):
        assert SAID <= {name for name in NAMES if words.may_say("a.py", name)}
    assert {name for name in NAMES if words.may_say("a.py", name)} == SAID, (
        "in time the words are known, not letters alone"
    )
    assert not words.may_say("a.py", b"zeta"), "nobody said that it would be asked"
    assert words.may_say("a.py", b"beta("), "of what was not told before, letters are looked for"


def test_a_file_is_read_into_words_once() -> None:
    read: list[str] = []
    words = SaidWords(lambda path: read.append(path) or TEXT, lambda path: TEXT)
    words.will_ask([b"name%d" % number for number in range(100)])
    for number in range(100):
        assert not words.may_say("a.py", b"name%d" % number)
    assert 1 < len(read) < 10


def test_a_name_with_a_blank_is_looked_for_in_the_whole_file() -> None:
    words = SaidWords(lambda path: b"run\nmy\nscript", lambda path: b"run my script")
    assert words.may_say("page.md", b"my script")
    assert not words.may_say("page.md", b"script my")
