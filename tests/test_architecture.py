"""ARCHITECTURE.md says what is: the levels of pyproject.toml, modules that exist, and every place that imports by string.

Sizes are kept, and ruff has nothing to say.
"""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest
import tomli

from porter.checks.registry import discover
from porter.engine.rule import Rule

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
LOADERS = {
    "import_module",
    "__import__",
    "find_spec",
    "exec_module",
    "spec_from_file_location",
    "run_module",
    "run_path",
}


MOST_MEMBERS = 15
LARGER = {"engine/rule_file.py RuleFile"}  # the page of a rule's author: at most 30, see tests/checks/test_rule_file.py


def public_members(kind: ast.ClassDef) -> set[str]:
    """Methods, fields and attributes of the class, and those that its methods give to `self`."""
    names = {part.name for part in kind.body if isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef))}
    for part in kind.body:
        targets = part.targets if isinstance(part, ast.Assign) else [getattr(part, "target", None)]
        names |= {target.id for target in targets if isinstance(target, ast.Name)}
        for node in ast.walk(part):
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                if getattr(node.value, "id", "") == "self":
                    names.add(node.attr)
    return {name for name in names if not name.startswith("_")}


def by_string() -> set[str]:
    """Modules of porter that load one by its name, or hand the name of one of porter's to somebody."""
    found = set()
    for path in (ROOT / "porter").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_bytes())):
            loads = isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) in LOADERS
            text = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
            if loads or re.fullmatch(r"porter(\.\w+)+", text) and is_module(text):
                found.add(path.relative_to(ROOT).as_posix())
    return found


def is_module(name: str) -> bool:
    path = ROOT / name.replace(".", "/")
    return path.is_dir() or path.with_suffix(".py").is_file()


@pytest.mark.slow
def test_the_places_that_import_by_string() -> None:
    listed = PAGE.partition("## Places that import by string")[2]
    assert set(re.findall(r"^- `(porter/[\w/]+\.py)`: ", listed, re.MULTILINE)) == by_string()


def test_the_levels() -> None:
    layers = tomli.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"][0]["layers"]
    shown = re.findall(r"^    ((?:\w+ \| )*\w+)(?: {2,}\S.*)?$", PAGE, re.MULTILINE)
    assert shown == layers


def test_what_it_names_is_there() -> None:
    named = set(re.findall(r"`((?:porter/|tests/|rules/)?[\w/]+\.(?:py|md|toml))`", PAGE))
    assert len(named) > 25
    assert [n for n in sorted(named) if not (ROOT / n).exists() and not (ROOT / "porter" / n).exists()] == []
    assert len(PAGE.splitlines()) <= 125  # it is read as a whole


@pytest.mark.slow
def test_no_class_has_too_many_members() -> None:
    large = set()
    for path in (ROOT / "porter").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.ClassDef) and len(public_members(node)) > MOST_MEMBERS:
                large.add(f"{path.relative_to(ROOT / 'porter').as_posix()} {node.name}")
    assert large == LARGER


@pytest.mark.parametrize("asked", ["check --output-format concise", "format --check --quiet"])
def test_the_linter_and_the_formatter_have_nothing_to_say(asked: str) -> None:
    command = [sys.executable, "-m", "ruff", *asked.split(), "--no-cache", str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_modules_stay_small() -> None:
    lines = {path: path.read_text("utf-8").count("\n") for path in (ROOT / "porter").rglob("*.py")}
    assert not {path.name: n for path, n in lines.items() if n > 300}
    rules = {Path(inspect.getfile(rule)): issubclass(rule, Rule) for rule in discover()}
    own = {path: n - sum(map(path.read_text("utf-8").count, ("\nimport ", "\nfrom "))) for path, n in lines.items()}
    assert rules and not {p.name: n for p, n in own.items() if rules.get(p) and n > 100}
    # a rule about a whole file reads rows of a table, or looks for what runs where
    assert not {p.name: n for p, n in lines.items() if p in rules and n > 250}
    assert lines[ROOT / "porter" / "cli" / "app.py"] < 200
