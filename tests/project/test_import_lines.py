"""What a text imports, told from its lines, is what its tree says."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis.strategies import from_regex

from porter.project.import_lines import imports
from porter.rulebook.texts import Texts

ROOT = Path(__file__).parents[2]
SIGNALS = {name: signal for name, signal in Texts().named("signals").items() if "pattern" in signal}


@pytest.mark.slow
def test_of_every_module_of_porter_itself():
    for path in sorted((ROOT / "porter").rglob("*.py")):
        data = path.read_bytes()
        told = {(data.count(b"\n", 0, i.offset) + 1, module) for i in imports(data) for module in i.modules}
        for node in ast.walk(ast.parse(data)):
            if isinstance(node, ast.Import):
                wanted = {(node.lineno, alias.name) for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                wanted = {(node.lineno, "." * node.level + (node.module or ""))}
            else:
                continue
            assert wanted <= told, f"{path}:{node.lineno}"


def test_comments_and_words_that_only_hold_import_are_none():
    text = b"# import a\nimportant = 1\nx = 'import b'\n  from .c import d as n, e\nimport f as g, h.i  # j\nfrom k import (l, # m\n"
    assert [(i.modules, i.names) for i in imports(text)] == [
        ((".c",), ("d", "e")),
        (("f", "h.i"), ()),
        (("k",), ("l",)),
    ]


@pytest.mark.parametrize("name", sorted(SIGNALS))
def test_every_match_of_a_signal_holds_one_of_its_words(name):
    @given(from_regex(SIGNALS[name]["pattern"]))
    def holds(text: str) -> None:
        assert any(word in text for word in SIGNALS[name]["words"])

    holds()
