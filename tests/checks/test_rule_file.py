"""One page says all that a rule may ask: porter/engine/rule_file.py."""

from __future__ import annotations

import ast
import typing
from pathlib import Path

import pytest

import porter
from porter.analysis.file import File
from porter.analysis.session import open_session
from porter.engine import rule_file, styles
from porter.python.source import Source

CHECKS = Path(porter.__file__).parent / "checks"
MOST, MOST_IN_A_VIEW = 30, 15
VIEWS = {
    name: kind
    for name, asked in vars(rule_file.RuleFile).items()
    if isinstance(asked, property) and asked.fget
    if getattr(kind := getattr(rule_file, asked.fget.__annotations__["return"], None), "_is_protocol", False)
}


def members(view: type) -> set[str]:
    here = {name for name in (*vars(view), *view.__annotations__) if not name.startswith("_")}
    return here - set(dir(typing.Protocol))


def asked() -> dict[str, set[str]]:
    """`file.x` as {"": {"x"}}, `file.x.y` as {"x": {"y"}}, in all rules, their helpers and the styles."""
    found: dict[str, set[str]] = {}
    for path in (*CHECKS.glob("*/*.py"), Path(styles.__file__)):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "file":
                found.setdefault("", set()).add(node.attr)
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Attribute):
                if isinstance(node.value.value, ast.Name) and node.value.value.id == "file":
                    found.setdefault(node.value.attr, set()).add(node.attr)
    return found


@pytest.mark.slow
def test_rules_ask_nothing_else() -> None:
    said = asked()
    assert said[""] == members(rule_file.RuleFile)
    assert VIEWS and {name: said[name] for name in VIEWS} == {name: members(view) for name, view in VIEWS.items()}


def test_it_stays_a_page() -> None:
    assert len(members(rule_file.RuleFile)) <= MOST
    assert all(len(members(view)) <= MOST_IN_A_VIEW for view in VIEWS.values())


@pytest.mark.parametrize("name", ["", *VIEWS])
def test_the_file_answers(name: str) -> None:
    file = File("a.py", Source(b"import torch\ntorch.zeros(1).cuda()\n"), open_session())
    view = getattr(file, name) if name else file
    known = {*dir(view), "statement"}  # of a file, while a statement is walked
    assert not members(VIEWS[name] if name else rule_file.RuleFile) - known
