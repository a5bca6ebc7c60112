"""LibCST's trees of statements are lent to one file at a time."""

from __future__ import annotations

import libcst as cst

from porter.python.spare_trees import SpareTrees

TEXT = "model.cuda()\n"


def test_places_of_one_file_never_share_a_tree() -> None:
    trees: SpareTrees[str] = SpareTrees()
    first = cst.parse_module(TEXT)
    trees.give_back(TEXT, first, "places")
    assert trees.take(TEXT) is None, "the file is still looked at"
    trees.settle()
    assert TEXT in trees
    assert trees.take(TEXT) == (first, "places")
    assert trees.take(TEXT) is None, "it is lent"


def test_few_are_kept() -> None:
    trees: SpareTrees[str] = SpareTrees()
    texts = [f"f{number:04}(" + "a, " * 300 + ")\n" for number in range(100)]
    for text in texts:
        trees.keep(text, cst.parse_module("f()"))
    kept = [text for text in texts if text in trees]
    assert kept == texts[-len(kept) :], "the oldest go first"
    assert sum(map(len, kept)) <= 40_000
    long = "f(" + "a, " * 1000 + ")\n"
    trees.keep(long, cst.parse_module("f()"))
    assert long not in trees
