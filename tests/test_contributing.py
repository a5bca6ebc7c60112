"""CONTRIBUTING.md says what is: every key of a rule with a rule that has it, files and tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

from porter.checks.registry import discover
from porter.engine.rule import Rule
from porter.rulebook import table

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
ROW = re.compile(r"^\| (`\w+`(?:, `\w+`)*) \| .* \| (`.+`) in `(\w+)` \|$", re.MULTILINE)


def test_every_key_has_an_example_of_a_rule() -> None:
    rules = {kind.__name__: kind for kind in discover()}
    told = set()
    for keys, example, name in ROW.findall(PAGE):
        made = rules[name](table.load())
        for key, said in zip(re.findall(r"\w+", keys), re.findall(r"`(.+?)`(?:, |$)", example)):
            told.add(key)
            value = getattr(made, key)
            if key == "only":
                assert value.__name__ == re.search(r"\.(\w+)\)", said)[1]
                continue
            shown = eval(said, {})
            same = shown == value or isinstance(shown, (set, frozenset, tuple)) and set(shown) <= set(value)
            assert same, f"{key} of {name} is {value!r}, and not {said}"
    assert told == {*Rule.__annotations__, "socs"}


def test_what_it_names_is_there() -> None:
    named = set(re.findall(r"((?:porter|tests|rules)/[\w/]+\.(?:py|md|toml)|\b[A-Z]+\.md)", PAGE))
    named |= {f"rules/{name}" for name in re.findall(r"`(\w+\.toml)`", PAGE)}
    assert len(named) > 15 and [name for name in sorted(named) if not (ROOT / name).exists()] == []
    assert set(re.findall(r"`(\w+)` is one\.", PAGE)) <= {kind.__name__ for kind in discover()}
    assert len(PAGE.splitlines()) <= 170  # two pages


def test_the_readme_names_both_pages() -> None:
    for readme in ("README.md", "README.zh.md"):
        text = (ROOT / readme).read_text("utf-8")
        assert "(CONTRIBUTING.md)" in text and "(ARCHITECTURE.md)" in text
