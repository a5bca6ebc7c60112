"""A port is looked at again where it changed, where an edit was asked for, and where somebody reads what changed."""

from __future__ import annotations

import ast

import libcst as cst
import pytest
from engine_world import codes, look, world

from porter.analysis.again import Again, near
from porter.analysis.file import File
from porter.engine.rule import Hit, Rule
from porter.finding import Change
from porter.python.source import Source


class Sows(Rule):
    """`x.plant()` becomes `x.sown()`."""

    code, slug = "PRT950", "planted"
    methods = {"plant"}

    def visit(self, original, updated, file):
        return Hit(original, "planted", new=_renamed(updated, "sown"), safe=True)


class Reaps(Rule):
    """`x.wait()` becomes `x.reap()` once something is sown, which the first look cannot know."""

    code, slug = "PRT951", "planted"
    methods = {"wait"}
    asked: list[str] = []

    def visit(self, original, updated, file):
        if b"sown" not in file.source.utf8:
            return None
        self.asked.append(file.text(original))
        return Hit(original, "planted", new=_renamed(updated, "reap"), safe=True)


def _renamed(call: cst.Call, word: str) -> cst.Call:
    return call.with_changes(func=call.func.with_changes(attr=cst.Name(word)))


LATER = "match y:\n    case 1:\n        pass\n    case 2 if {}.wait():\n        pass"
READERS = {
    "a name": ("a = x.plant()\nb = 1\n", "a.wait()", "b.wait()"),
    "an attribute": ("x.a = x.plant()\n", "y.a.wait()", "y.b.wait()"),
    "a parameter": ("def f(a=x.plant(), b=1):\n    pass\n", "a.wait()", "c.wait()"),
    "a name in the guard of a later case": ("a = x.plant()\nb = 1\n", LATER.format("a"), LATER.format("b")),
    "a name of a case": ("match x.plant():\n    case 1, a:\n        pass\n", "a.wait()", "c.wait()"),
    "the rest of a mapping": ("match x.plant():\n    case {**a}:\n        pass\n", "a.wait()", "c.wait()"),
    "a name of a with": ("with x.plant() as a:\n    pass\n", "a.wait()", "c.wait()"),
}


@pytest.mark.parametrize("name", READERS)
def test_who_reads_what_changed_is_looked_at_again_and_nobody_else(name: str) -> None:
    binding, reader, other = READERS[name]
    begin = f"import torch\nx = y = 1\n{binding}"
    assert (1, "PRT003", "unstable") in codes(look(f"{begin}{reader}\n", world(Sows, Reaps)))
    Reaps.asked.clear()
    result = look(f"{begin}{other}\n", world(Sows, Reaps))
    assert "PRT003" not in {code for _, code, _ in codes(result)} and result.auto and not Reaps.asked


def test_what_a_file_names_anywhere_is_known_in_the_second_look_too() -> None:
    class Asks(Sows):
        methods = {"plant", "sown"}

        def visit(self, original, updated, file):
            named = "torch.cuda.is_available" in file.apis
            return None if named and original.func.attr.value == "sown" else super().visit(original, updated, file)

    result = look("import torch\nx = 1\nx.plant()\nif torch.cuda.is_available():\n    pass\n", world(Asks))
    assert result.auto and "PRT003" not in {code for _, code, _ in codes(result)}


TEXT = """\
import torch
@deco(
    1)
def f(a,
      b=2):
    x = g(
        b)
    if x:
        return h
    return (
        x)
match f:
    case 1 if y:
        z = 1
"""
LINES = {  # an edit of the one word -> the lines that are looked at; of a compound statement, to where its block begins
    "g": {2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13},
    "h": {8, 9},
    "y": {12, 13, 14},
    "deco": {2, 3, 4, 5, 6, 7, 12, 13},
}


@pytest.mark.parametrize("word", LINES)
def test_lines_of_statements_and_heads(word: str) -> None:
    source = Source(TEXT.encode())
    file = File("x.py", source, world(Sows), again=True)
    (at,) = {source.span(n)[0] for n in ast.walk(file.tree) if isinstance(n, ast.Name) and n.id == word}
    assert near(file, Again(False, (Change(at, at + len(word), word.encode()),), (at,))) == LINES[word]
