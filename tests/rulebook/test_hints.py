"""rules/hints.toml: names and words that decide what is told."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import porter
from porter.python import kernel_branches
from porter.rulebook.table import any_of, hint, hints, load

KINDS = sorted(load().hints)


@pytest.mark.slow
def test_each_kind_is_asked_for_and_each_that_is_asked_for_is_there():
    code = "".join(path.read_text("utf-8") for path in Path(porter.__file__).parent.rglob("*.py"))
    asked = set(re.findall(r"\b(?:hints?|any_of)\(\s*[\"']([a-z-]+)[\"']\s*\)", code))
    assert asked <= set(KINDS)
    assert [kind for kind in KINDS if not re.search(rf"[\"']{kind}[\"']", code)] == []


@pytest.mark.parametrize("kind", KINDS)
def test_no_word_stands_twice(kind):
    assert len(hints(kind)) == len(load().hints[kind])


def test_a_word_may_have_a_choice_of_its_own():
    """A pattern around the words holds for each of them, and ends with the last."""
    whole = re.compile(rf"(?:{any_of('program-for-gpus-alone')})\Z")
    assert whole.match("trtllm-serve") and whole.match("sendrecv_perf") and whole.match("trtexec")
    assert not whole.match("serve") and not whole.match("sendrecv") and not whole.match("trtexec2")
    assert hint("reports").search("use_TensorBoard") and not hint("reports").search("logits")


@pytest.mark.parametrize(
    ("name", "built"),
    [("has_triton", True), ("USE_XFORMERS", True), ("WITH_CUDA_EXT", True), ("no_cuda_ops", True), ("use_cuda", False),
     ("triton", False), ("with_cuda_a", False)],
)  # fmt: skip
def test_names_that_say_that_kernels_were_built(name, built):
    assert bool(kernel_branches._BUILT.search(name)) == built
