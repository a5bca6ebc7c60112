"""A mistake in the class of a rule is told to who wrote it: one line with the file, the line and the cure."""

from __future__ import annotations

import importlib.util
import pickle
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import unmeasured

from porter.checks import registry
from porter.checks.mistakes import LITERALS, PATTERNS, READS, RuleMistake, check, check_made, failed, place
from porter.rulebook import table

ROOT = Path(__file__).parents[2]
HEAD = """\
\"\"\"A rule of a test.\"\"\"

from porter.engine.rule import Hit, IndexRule, Rule, TextRule  # noqa: F401


"""
RULE = """\
class Planted(Rule):
    code = "PRT638"
    calls = {"torch.f"}

    def visit(self, original, updated, file):
        return Hit(original, "rows")
"""
TEXT = RULE.replace("(Rule)", "(TextRule)").replace('calls = {"torch.f"}', 'reads = "script"').replace("visit", "look")


@pytest.fixture(autouse=True)
def nothing_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "planted", raising=False)


def loaded(folder: Path, text: str):
    path = folder / "planted.py"
    path.write_text(HEAD + text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("planted", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["planted"] = module  # where the source of a class is looked for
    # the loader would take what it compiled a moment ago, where the new text is as long as the old one
    exec(compile(HEAD + text, path, "exec"), module.__dict__)
    return module.Planted


def told(folder: Path, text: str) -> str:
    kind, tables = loaded(folder, text), table.load()
    with pytest.raises(RuleMistake) as raised:
        check(kind, tables, {})
        check_made(kind(tables), tables)
    assert str(raised.value).startswith(f"{folder.as_posix()}/planted.py:"), raised.value
    return str(raised.value).rpartition("planted.py:")[2]


@pytest.mark.parametrize("text", [RULE, TEXT])
def test_a_rule_without_a_mistake(tmp_path, text):
    kind, tables = loaded(tmp_path, text), table.load()
    check(kind, tables, {})
    check_made(kind(tables), tables)


CALLS = 'calls = {"torch.f"}'
MISTAKES = {
    "a misspelt key": (RULE.replace("calls", "call"), r"8: Planted: 'call' is no key of Rule; did you mean 'calls'\?"),
    "a key nobody has": (
        RULE.replace("calls", "triggers"),
        "8: .*'triggers' is no key of Rule; its keys are attributes",
    ),
    "a key of another kind": (RULE.replace(CALLS, 'reads = "script"'), "8: .*'reads' is no key of Rule"),
    "one string for a list": (
        RULE.replace(CALLS, 'calls = "torch.f"'),
        r"8: .*letter by letter; write \('torch\.f',\)",
    ),
    "a glance without staticmethod": (
        RULE.replace(CALLS, f"{CALLS}\n\n    def only(scene, link):\n        return True\n"),
        r": Planted: only is a function.*staticmethod",
    ),
    "no visit": (RULE.replace("visit", "vist"), "6: Planted: it has no method 'visit'"),
    "no look": (TEXT.replace("look", "visit"), "6: Planted: it has no method 'look'"),
    "a code without a stanza": (RULE.replace("PRT638", "PRT699"), r"7: .*no \[\[rule\]\] .* the code 'PRT699'"),
    "one of many codes without a stanza": (
        TEXT.replace("reads", 'codes = ("PRT638", "PRT699")\n    reads'),
        r"8: .*no \[\[rule\]\] .* the code 'PRT699'",
    ),
    "no such node": (RULE.replace(CALLS, 'nodes = ("Cal",)'), r"8: .*nodes has 'Cal'; did you mean 'Call'\?"),
    "no such kind of literal": (RULE.replace(CALLS, 'literals = {"devices"}'), "8: .*did you mean 'device'"),
    "no such pattern": (RULE.replace(CALLS, 'patterns = {"rmsnorm"}'), "8: .*did you mean 'rms-norm'"),
    "no such chip": (RULE.replace(CALLS, f'{CALLS}\n    socs = {{"A9"}}'), "9: .*socs has 'A9'"),
    "no such kind of file": (TEXT.replace('"script"', '"shell"'), "8: .*reads is 'shell', which no format has"),
    "nothing to be asked about": (RULE.replace(f"    {CALLS}\n", ""), "7: .*does not say what it wants"),
    "a text without nodes": (RULE.replace(CALLS, f'{CALLS}\n    text = "x"'), "9: .*text without nodes"),
    "spelled without a text": (RULE.replace(CALLS, f"{CALLS}\n    spelled = True"), "9: .*spelled without text"),
    "a glance at nothing": (
        RULE.replace(CALLS, 'references = {"torch.f"}\n    only = staticmethod(bool)'),
        "9: .*only is asked of calls",
    ),
}


@pytest.mark.parametrize(("text", "wanted"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake(tmp_path, text, wanted):
    said = told(tmp_path, text)
    assert re.match(wanted if wanted[0].isdigit() else r"\d+" + wanted, said), said


def test_one_code_in_two_classes(tmp_path):
    kind, taken = loaded(tmp_path, RULE), {}
    for other in registry.discover():
        check(other, table.load(), taken)
    with pytest.raises(RuleMistake, match=r"planted\.py:7: .*of ElementLoop \(porter/checks/.*element_loop\.py:\d+\)"):
        check(kind, table.load(), taken)
    check(loaded(tmp_path, TEXT), table.load(), taken)  # of another kind of file


def test_a_base_has_keys_of_its_own(tmp_path):
    base = "class Base(Rule):\n    offers: str | None = None\n\n\n" + RULE.replace("(Rule)", "(Base)")
    check(loaded(tmp_path, base.replace("calls =", 'offers = "x"\n    calls =')), table.load(), {})
    assert "did you mean 'offers'?" in told(tmp_path, base.replace("calls =", 'offer = "x"\n    calls ='))


def test_a_module_that_cannot_be_loaded(tmp_path):
    for text, wanted in (
        (RULE.replace(CALLS, "only = staticmethod(Hit.is_there)"), r"planted\.py:8: AttributeError: .*is_there"),
        (RULE.replace("visit(", "visit[("), r"planted\.py:10: SyntaxError: "),
    ):
        with pytest.raises((AttributeError, SyntaxError)) as raised:
            loaded(tmp_path, text)
        assert re.search(wanted, str(failed("planted", raised.value)))


def test_it_comes_back_from_another_process():
    mistake = RuleMistake("here:1: wrong")
    assert pickle.loads(pickle.dumps(mistake)).args == mistake.args
    assert mistake.text("zh") == mistake.text("en") == "here:1: wrong"


def test_what_there_is_to_ask_for():
    """The kinds that the check knows are those that porter makes."""
    made = {path: path.read_text("utf-8") for path in (ROOT / "porter").rglob("*.py") if path.name != "mistakes.py"}
    values = "".join(text for path, text in made.items() if path.parent.name == "values")
    seen = set(re.findall(r'Match\("([\w-]+)"', values)) | set(
        re.findall(r'"([\w-]+)" if why == "\w+" else "rotary"', values)
    )
    assert seen | {"rotary"} == PATTERNS
    formats = "".join(text for path, text in made.items() if path.parent.name == "formats")
    assert set(re.findall(r'READS = .*?"(\w+)"$', formats, re.MULTILINE)) == READS
    assert {kind for rule in registry.load().all for kind in rule.literals} == LITERALS


@pytest.mark.slow
def test_the_rules_that_there_are_cost_no_search():
    """Every hook asks: what looks into sources is loaded for a mistake alone."""
    asked = (
        "import sys; from porter.checks.registry import load; load(); print({'difflib', 'traceback'} & {*sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", asked], cwd=ROOT, capture_output=True, text=True, env=unmeasured())
    assert done.stdout == "set()\n", done.stdout + done.stderr


def test_a_place_without_a_source():
    assert place(type("Made", (), {}), "code") == __name__


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "porter", tmp_path / "porter", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "rules").symlink_to(ROOT / "rules")
    (tmp_path / "train.py").write_text("import torch\n\ntorch.cuda.synchronize()\n")
    return tmp_path


@pytest.mark.slow
def test_the_user_gets_one_line(checkout: Path):
    rule = checkout / "porter/checks/performance/element_loop.py"
    text, ran = rule.read_text("utf-8"), []
    command = [sys.executable, "-B", "-m", "porter", "analyze", "--no-cache"]  # two texts of one second and one size
    for old, new, at, wanted in (
        ("text =", "txt =", 16, "ElementLoop: 'txt' is no key of Rule; did you mean 'text'?"),
        ("takes_rows)", "take_rows)", 17, "AttributeError: "),
        ('code = "PRT638"', 'cod = "PRT638"', 12, "ElementLoop: it has no code of its own"),
    ):
        assert old in text
        rule.write_text(text.replace(old, new, 1), "utf-8")
        for asked in (["train.py"], ["-", "--stdin-filename", "train.py"])[: 2 - bool(ran)]:
            given = (checkout / "train.py").read_bytes()
            done = subprocess.run([*command, *asked], cwd=checkout, input=given, capture_output=True)
            ran.append(said := done.stderr.decode())
            assert done.returncode == 2 and said.count("\n") == 1, (done.returncode, said)
            assert said.startswith(f"porter: porter/checks/performance/element_loop.py:{at}: {wanted}"), said
    assert len(ran) == 4
