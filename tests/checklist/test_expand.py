"""What a word of a shell script becomes, as bash says it; and what only a run could tell."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from drawn import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from porter.checklist.expand import UNKNOWN, Expander, calculated

VARIABLES = {"A": "1", "B": "two words", "ARGS": ["--x 1", "--y"], "EMPTY": "", "N": "8"}
SHOW = 'show() { for word in "$@"; do printf "%s\\0" "$word"; done; }; show'
SCRIPT = "A=1; B='two words'; ARGS=('--x 1' --y); EMPTY=; N=8; unset NONE"


@pytest.mark.parametrize(
    "word",
    [
        "$A", "${A}", '"$B"', "$B", "'$A'", "${NONE:-4}", "${EMPTY:-$A}", "${EMPTY-4}", '"${ARGS[@]}"', "${ARGS[@]}", "${ARGS[0]}", "a$A-b", "$((N*2+A))",
        "$(($N / 3 % 2))", '"a\\"b"', "a\\ b", '"$A $B"', "${NONE:-${N}}", "--x=${A}", "'a b'c", '"${ARGS[@]}"z', "x$B", '""', "$EMPTY", "${N:=3}", "$((-N))",
    ],
)  # fmt: skip
def test_a_word_is_what_bash_says(word):
    if shutil.which("bash") is None:
        pytest.skip("bash is not installed")
    done = subprocess.run(["bash", "-c", f"{SCRIPT}; {SHOW} {word}"], capture_output=True, text=True)
    assert Expander(VARIABLES).words(word) == done.stdout.split("\0")[:-1]


@pytest.mark.parametrize(
    ("word", "shown"),
    [("$NONE", "$NONE"), ("$1", "$1"), ("$(nproc)", "$(nproc)"), ("${A%x}", "${A%x}"), ("`date`", "`date`"), ("$((M+1))", "$((M+1))")],
)  # fmt: skip
def test_what_the_script_does_not_say_is_marked_and_shown_as_written(word, shown):
    (text,) = Expander(VARIABLES).words(word)
    assert text.startswith(UNKNOWN) and text.replace(UNKNOWN, "") == shown


def test_what_holds_itself_ends():
    assert Expander({}).text("${A:-${B:-x}}") == "x"
    assert len(Expander({}).text("${A:-" * 50 + "x" + "}" * 50)) < 500
    variables: dict[str, str | list[str]] = {"X": "y" * 100_000}
    assert len(Expander(variables).text("$X" * 1000)) < 2_000_000


@pytest.mark.parametrize("text", ["2**99999", "9" * 2000, "1/0", "f()", "x", "1 +", "[1]*9", "'a'", "(" * 500])
def test_no_arithmetic_but_whole_numbers(text):
    assert calculated(text) is None


@settings(max_examples=examples(200))
@given(st.text(alphabet="$(){}\"'\\ aA1[@]-:=`\n#", max_size=30))
def test_whatever_a_word_is_it_has_an_end(word):
    expander = Expander(VARIABLES)
    assert all(isinstance(part, str) for part in expander.words(word))
    assert isinstance(expander.text(word), str)
