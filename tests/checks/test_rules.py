"""rules/*.toml: both languages everywhere, symptoms, examples, and every message that the code names."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
import tomli
from rules_page import END, START, renew, rule_table

from porter.finding import EFFORTS, SEVERITIES, Finding
from porter.resources import rules_dir
from porter.rulebook import schema, table
from porter.rulebook.table import LANGUAGES
from porter.rulebook.texts import Texts
from porter.rulebook.words import words

ROOT = Path(__file__).parents[2]
FILES = sorted(rules_dir().glob("*.toml"))
CODES = Texts().codes()
HAN = re.compile(r"[\u4e00-\u9fff]")


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_the_text_of_the_files(path):
    text = path.read_text(encoding="utf-8")
    assert text.endswith("\n") and not text.endswith("\n\n") and "\t" not in text and "\r" not in text
    assert [n for n, line in enumerate(text.split("\n"), 1) if line != line.rstrip()] == []
    schema.read(path.name, path.read_bytes())


@pytest.mark.parametrize("code", CODES)
def test_every_rule(code):
    texts = Texts()
    rule = texts.rule(code)
    written = [*rule.title.values(), *rule.explain.values(), rule.before, rule.after]
    written += [text for message in rule.messages.values() for text in message.values()]
    left = [text for text in written if "TODO" in text or "todo_" in text]
    assert not left, f"{code}: its stanza in rules/*.toml is not filled in: {left}"  # `make rule` leaves places
    assert texts.rule(rule.slug) == texts.rule(code.lower()) == rule
    assert rule.severity in SEVERITIES and rule.effort in EFFORTS
    assert not any(title.endswith((".", "。")) or "\n" in title for title in rule.title.values())
    assert all(text == text.strip() and len(text) > {"en": 60, "zh": 20}[lang] for lang, text in rule.explain.items())
    assert set(rule.title) == set(rule.explain) == set(LANGUAGES)
    for why, message in rule.messages.items():
        assert set(message) == set(LANGUAGES), why
        for lang, text in message.items():
            assert text == text.strip() and "\n" not in text and not text.endswith((".", "。")), (why, lang)
            assert "  " not in text, (why, lang)
    chinese = [rule.title["zh"], rule.explain["zh"], *(message["zh"] for message in rule.messages.values())]
    assert all(HAN.search(text) for text in chinese)
    english = [rule.title["en"], rule.explain["en"], *(message["en"] for message in rule.messages.values())]
    assert not any(HAN.search(text) for text in english)
    for why in rule.messages:
        if texts.severity(code, why) in ("blocker", "wrong"):
            assert texts.about(code, why, "symptom"), f"{code} {why}: a search from an error message does not land here"


def test_an_example_unless_it_is_about_porter_itself():
    for code in CODES:
        rule = Texts().rule(code)
        assert bool(rule.before) == bool(rule.after)
        assert rule.before or code == "PRT003", code  # no program makes porter break a promise


def test_every_variable_renders():
    texts = Texts()
    for name, row in table.load().variables.items():
        values = {"old": name, **({"new": row.to} if row.to else {})}
        finding = Finding("a.py", 1, 1, row.code, row.why, tuple(values.items()))
        for lang in LANGUAGES:
            message = texts.message(finding, lang)
            assert name in message or "torch_npu" in message, name
            assert row.to is None or row.to in message, name
        assert row.code == "PRT803" if row.to is None else row.code in ("PRT801", "PRT802"), name
        assert texts.api(name).to == row.to, name


def test_only_names_of_the_npu_side_are_written():
    rows = table.load().variables
    for name, row in rows.items():
        assert row.to is None or re.fullmatch(
            r"(TORCH_)?HCCL_\w+|(RAY_EXPERIMENTAL_NOSET_)?ASCEND_\w+|(TORCH|PYTORCH)_\w*NPU\w*", row.to
        ), name
        assert row.to not in rows, f"{name} becomes {row.to}, which is a finding itself"


def test_variables_that_many_programs_set():
    rows = table.load().variables
    assert (rows["CUDA_VISIBLE_DEVICES"].to, rows["CUDA_VISIBLE_DEVICES"].fix) == ("ASCEND_RT_VISIBLE_DEVICES", "safe")
    assert (rows["NCCL_BUFFSIZE"].to, rows["NCCL_BUFFSIZE"].value, rows["NCCL_BUFFSIZE"].fix) == (
        "HCCL_BUFFSIZE",
        "bytes-to-mb",
        "review",
    )
    assert rows["PYTORCH_CUDA_ALLOC_CONF"].fix == "review"
    assert [
        rows[name].to for name in ("NCCL_IB_DISABLE", "NCCL_P2P_DISABLE", "NCCL_ALGO", "CUDA_DEVICE_MAX_CONNECTIONS")
    ] == [None] * 4


PACKAGE = Path(schema.__file__).parent.parent


def _constants(node: ast.expr | None) -> list[str]:
    if isinstance(node, ast.IfExp):
        return _constants(node.body) + _constants(node.orelse)
    return [node.value] if isinstance(node, ast.Constant) and isinstance(node.value, str) else []


def _values(node: ast.expr | None) -> set[str] | None:
    """Names of a literal `(("old", x), ("new", y))`; None where it is no literal."""
    if node is None:
        return set()
    pairs = node.elts if isinstance(node, ast.Tuple) else [None]
    firsts = [_constants(pair.elts[0]) if isinstance(pair, ast.Tuple) and pair.elts else [] for pair in pairs]
    return {first for (first,) in firsts} if all(firsts) else None


def _naming(*words: str) -> list[tuple[Path, ast.Module]]:
    """The modules that have one of the words in their text: to parse all of porter takes seconds."""
    wanted = re.compile("|".join(words))
    texts = {path: path.read_text("utf-8") for path in sorted(PACKAGE.rglob("*.py"))}
    return [(path, ast.parse(text)) for path, text in texts.items() if wanted.search(text)]


def _said() -> list[tuple[str, str, str, set[str] | None]]:
    """(place, code, key, names of the values) for every message that the code names by a constant."""
    found = []
    for path, tree in _naming(r"\bHit\(", r"\bown\(", r"\bBroken\(", r"\bUnreadable\("):
        spans = {kind: kind.body for kind in ast.walk(tree) if isinstance(kind, ast.ClassDef)}
        codes = {
            kind: _constants(statement.value.elts[0] if isinstance(statement.value, ast.Tuple) else statement.value)
            for kind, body in spans.items()
            for statement in body
            if isinstance(statement, ast.Assign) and "code" in ast.unparse(statement.targets[0]).strip("()").split(", ")
        }
        owner = {id(node): kind for kind in codes for node in ast.walk(kind)}
        for call in ast.walk(tree):
            name = getattr(getattr(call, "func", None), "id", None)
            if name not in ("Hit", "own", "Broken", "Unreadable"):
                continue
            named = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
            place, arguments = f"{path.relative_to(PACKAGE)}:{call.lineno}", call.args
            if name == "Hit":
                code = _constants(named["code"]) if "code" in named else codes.get(owner.get(id(call)), [])
                keys, values = (
                    _constants(arguments[1] if len(arguments) > 1 else named.get("why")),
                    _values(named.get("values")),
                )
            elif name == "own":
                code, keys = _constants(arguments[2]), _constants(arguments[3])
                values = set(named) - {"column"} if len(named) == len(call.keywords) else None
            else:
                code, keys = (
                    _constants(arguments[2]) if len(arguments) > 2 else ["PRT003" if name == "Broken" else "PRT002"],
                    _constants(arguments[0] if arguments else None),
                )
                values = set(named) | {"codes"} if name == "Broken" else {"error"}
            found += [(place, c, key, values) for c in code for key in keys]
    return found


@pytest.mark.slow
def test_every_error_speaks_both_languages():
    errors = ("UserError", "CatalogueError")
    for path, tree in _naming(*errors):
        for call in ast.walk(tree):
            if getattr(getattr(call, "func", None), "id", "") in errors:
                assert len(call.args) == 2, f"{path.relative_to(PACKAGE)}:{call.lineno}: English, then Chinese"


@pytest.mark.slow
def test_code_that_is_shown_has_no_words_in_one_language_alone():
    """A comment in it is read in both languages: what it would say is in the text beside it."""
    comment, shown = re.compile(r"#(?! noqa)(?: \S+){2,}"), []
    for path in sorted(rules_dir().rglob("*.toml")):
        for stanzas in tomli.loads(path.read_text("utf-8")).values():
            for stanza in (s for s in stanzas if isinstance(s, dict)):
                code = (stanza.get(key, "") for key in ("snippet", "command", "by_hand", "example"))
                shown += [("\n".join(c) if isinstance(c, list) else c, path.name) for c in code]
    assert sum(bool(code) for code, _ in shown) > 250
    assert not [
        (name, found[0]) for code, name in shown if (found := comment.search(code)) and "torchrun" not in found[0]
    ]


@pytest.mark.slow
def test_every_message_that_the_code_names():
    texts, said = Texts(), _said()
    assert {code for _, code, _, _ in said} >= {"PRT001", "PRT002", "PRT003"}
    for place, code, key, values in said:
        assert code in CODES, f"{place}: no [[rule]] has the code {code}"
        assert key in texts.rule(code).messages, f"{place}: {code} has no message {key!r}"
        wanted = set(schema.PLACEHOLDER.findall(texts.rule(code).messages[key]["en"]))
        assert values is None or wanted <= values, f"{place}: {code} {key!r} gives {values}, the message wants {wanted}"


def test_a_value_that_a_message_wants_itself_says_nothing_behind_it():
    texts = Texts()
    for code in CODES:
        for why, message in texts.rule(code).messages.items():
            for text in message.values():
                assert words("rulebook", "en").keys().isdisjoint(schema.PLACEHOLDER.findall(text)), (
                    f"{code} {why}: {text}"
                )


def test_the_table_of_rules():
    text = rule_table(Texts(), "en")
    assert [line.split("|")[1].strip() for line in text.splitlines()[2:]] == CODES
    once = renew(f"head\n{START}\nold\n{END}\ntail\n", text)
    assert once == renew(once, text) == f"head\n{START}\n\n{text}\n\n{END}\ntail\n"
    with pytest.raises(ValueError, match="no <!-- rules:start"):
        renew("no markers", text)


@pytest.mark.parametrize(("name", "lang"), [("rules.md", "en"), ("rules.zh.md", "zh")])
def test_the_page_of_rules_is_up_to_date(golden, name, lang):
    page = ROOT / "docs" / name
    golden(page, renew(page.read_text(encoding="utf-8"), rule_table(Texts(), lang)).encode())
