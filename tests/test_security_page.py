"""SECURITY.md names a test for each promise: it exists, and both languages name the same."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = {"en": ROOT / "SECURITY.md", "zh": ROOT / "SECURITY.zh.md"}
NAMED = re.compile(r"`(tests/[\w/]+\.py)(?:::(\w+))?`")


def rows(lang: str) -> list[tuple[str, list[tuple[str, str]]]]:
    """The promises and the tests that hold them."""
    found = []
    for line in PAGES[lang].read_text(encoding="utf-8").splitlines():
        if line.startswith("| ") and "`tests/" in line:
            promise, held = line.strip("| ").rsplit(" | ", 1)
            found.append((promise, NAMED.findall(held)))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name, function", sorted({test for _, held in rows("en") for test in held}))
def test_what_holds_a_promise_exists(name: str, function: str) -> None:
    tree = ast.parse((ROOT / name).read_bytes())
    assert not function or function in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_both_languages_promise_the_same() -> None:
    english, chinese = rows("en"), rows("zh")
    assert [held for _, held in english] == [held for _, held in chinese]
    assert len(english) > 15 and all(held for _, held in english)
    assert all(promise != other for (promise, _), (other, _) in zip(english, chinese))


def test_each_page_names_the_other_and_the_readme_names_it() -> None:
    assert "(SECURITY.zh.md)" in PAGES["en"].read_text("utf-8") and "(SECURITY.md)" in PAGES["zh"].read_text("utf-8")
    assert "(SECURITY.md)" in (ROOT / "README.md").read_text("utf-8")
    assert "(SECURITY.zh.md)" in (ROOT / "README.zh.md").read_text("utf-8")
