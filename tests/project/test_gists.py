"""A search for a word in a long text finds what a search in its whole text finds."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from porter.project.gists import Gists, gist_of

TEXTS = st.lists(
    st.sampled_from([b"gpu", b"train_gpu", b"GPU", b"-", b".", b'"', b" ", b"\n", b"\t", b"\xe4\xba\xba"])
).map(b"".join)
WORDS = st.lists(st.sampled_from([b"gpu", b"train", b"_", b"-", b"."]), min_size=1).map(b"".join)


@given(TEXTS, WORDS)
def test_a_word_is_in_the_gist_where_it_is_in_the_text(text: bytes, word: bytes) -> None:
    assert (word in gist_of(text)) == (word in text)


def test_what_is_said_often_stands_there_once() -> None:
    assert gist_of(b"a b a\n b a b") == b"a\nb"


def test_pictures_of_a_notebook_say_nothing() -> None:
    gist = gist_of(b'{"data": {"image/png": "iVBORw0gpuKGgo",\n "text/plain": ["<train>"]}}')
    assert b"gpu" not in gist
    assert b"train" in gist


def test_texts_that_are_kept_are_asked_as_they_are() -> None:
    known: dict[str, bytes] = {}

    def text(path: str) -> bytes:
        data = {"short.py": b"Use_GPU use-gpu", "long.md": b"Use-GPU " * 3}[path]
        if path == "short.py":
            known[path] = data
        return data

    gists = Gists(text, known)
    assert (gists.of("short.py"), gists.of("long.md")) == (b"Use_GPU use-gpu", b"Use-GPU")
    assert (gists.folded("short.py"), gists.folded("long.md")) == (b"use_gpu use_gpu", b"use_gpu")
