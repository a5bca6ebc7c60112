"""What a stanza of rules/*.toml may say, and what becomes of it."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
import tomli
from rules_samples import (
    ALL,
    API,
    EFFORT,
    HINT,
    LIMIT,
    NAMESPACE,
    NPU_VARIABLE,
    PARAMETER,
    PLUGIN,
    ROUTE,
    RULE,
    SINK,
    VARIABLE,
    forget,
)

from porter.finding import Finding
from porter.resources import rules_dir
from porter.rulebook import table
from porter.rulebook.errors import RuleError
from porter.rulebook.tabulate import build
from porter.rulebook.texts import Texts, fill

GONE = '[[gone]]\nby = "library"\nsince = "2.0"\nevidence = "its notes"\n'

pytest_plugins = ["rules_fixtures"]
pytestmark = pytest.mark.usefixtures("cache")


def test_every_stanza_arrives(folder):
    tables = table.load(folder(ALL))
    assert tables.rules["PRT101"]["messages"] == {"default": ("blocker", "minutes"), "note": ("note", "hours")}
    move = tables.moves["torch.cuda.synchronize"]
    assert move == ("PRT101", "synchronize", "safe", "blocker", "minutes", "default", False)
    assert tables.moves["torch.cuda.CUDAGraph"].tail == "NPUGraph"
    assert (
        tables.variables["A"]
        == tables.variables["B"]
        == ("PRT101", "C", "bytes-to-mb", "[0-9]+", "", "review", "blocker", "minutes", "default", "D", ("2.1.0",))
    )
    assert tables.sinks == [("device", ("torch.device",), (), 0, ())]
    assert tables.parameters["torch.cuda.f"].rename == {"device": "device_name"}


def test_a_name_that_stays(folder):
    stanza = API.replace('to = "NPUGraph"\nfix = "safe"\n', "stays = true\n").replace('["a", "b"]', '["a"]')
    place = folder(RULE + stanza + 'message = { en = "{name} works", zh = "{name} 可用" }\n')
    assert table.load(place).moves["torch.cuda.CUDAGraph"].stays
    texts = Texts(place)
    api = texts.api("torch.cuda.CUDAGraph")
    assert api.stays and api.message["en"] == "torch.cuda.CUDAGraph works"
    assert "torch.cuda.CUDAGraph" not in texts.rule("PRT101").messages  # nobody ever gets it as a finding


def test_submodule_of_a_namespace(folder):
    tables = table.load(folder(RULE + NAMESPACE + 'under = "amp"\nseverity = "wrong"\n'))
    assert tables.moves["torch.cuda.amp.synchronize"][1:4] == ("amp.synchronize", "safe", "wrong")


def test_a_stanza_with_a_message_of_its_own(folder):
    own = 'message = { en = "{old} differs", zh = "{old} 不同", effort = "rewrite" }\n'
    own += 'severity = "wrong"\nsymptom = "Boom"\n'
    place = folder(RULE + API + own)
    move = table.load(place).moves["torch.cuda.CUDAGraph"]
    assert move[3:6] == ("wrong", "rewrite", "torch.cuda.CUDAGraph")
    texts = Texts(place)
    finding = Finding("a.py", 1, 1, "PRT101", move.why, (("old", "X"),), severity="wrong")
    assert texts.message(finding, "zh") == "X 不同"
    assert texts.symptom(finding) == "Boom"
    assert texts.symptom(replace(finding, why="default")) == "AttributeError"
    assert texts.symptom(replace(finding, severity="note")) == "", "there the program has another way"
    assert (texts.severity("PRT101", move.why), texts.effort("PRT101", move.why)) == ("wrong", "rewrite")


def test_a_message_with_a_symptom_of_its_own(folder):
    texts = Texts(folder(RULE.replace('severity = "note"', 'severity = "note", symptom = ""', 1)))
    finding = Finding("a.py", 1, 1, "PRT101", "note", severity="note")
    assert texts.symptom(finding) == ""
    assert texts.symptom(replace(finding, why="default", severity="blocker")) == "AttributeError"


# rules whose symptom holds for each name, whatever its own message says
SHARED = {"PRT406", "PRT407", "PRT503", "PRT620", "PRT830", "PRT831", "PRT832"}


def test_a_symptom_is_that_of_the_name():
    """One that says a message of its own is seldom met with the error of the others: it has its own, or none (`symptom = ""`)."""
    for path in sorted(rules_dir().glob("*.toml")):
        stanzas = tomli.loads(path.read_text(encoding="utf-8"))
        known = {rule["code"] for rule in stanzas.get("rule", ()) if "symptom" in rule} - SHARED
        for kind in ("api", "option", "package", "setting"):
            for row in (row for row in stanzas.get(kind, ()) if not row.get("stays")):
                assert not (row["code"] in known and "message" in row and "symptom" not in row), (path.name, row)


BAD = {
    "broken toml": (RULE + "[[rule", r"a\.toml: "),
    "unknown stanza": (RULE + "[[rul]]\ncode = 1\n", r"unknown stanza 'rul'"),
    "stanza that is no list": (RULE + "[api]\ncode = 1\n", r"unknown stanza 'api'"),
    "unknown key": (RULE + API + 'colour = "red"\n', r"\[\[api\]\] 1 \(torch\.cuda\.CUDAGraph\): unknown key 'colour'"),
    "default of neither kind": (
        RULE.replace('severity = "blocker"', 'severity = "blocker"\ndefault = "maybe"', 1),
        r"\[\[rule\]\] 1 \(PRT101\): default is not one of on, off",
    ),
    "missing key": (RULE.replace('slug = "api-renamed"\n', ""), r"\[\[rule\]\] 1 \(PRT101\): 'slug' is missing"),
    "symptom of a namespace": (RULE + NAMESPACE + 'symptom = "x"\n', r"unknown key 'symptom'"),
    "quiet beside a counterpart": (RULE + VARIABLE + "quiet = 'WARN'\n", r"'quiet' is for what has no 'to'"),
    "no code like that": (API, r"no \[\[rule\]\] has the code PRT101"),
    "malformed code": (RULE.replace("PRT101", "PRT1"), r"code is not a code"),
    "code twice": (RULE + RULE.replace("api-renamed", "other"), r"the code PRT101 is taken"),
    "slug twice": (RULE + RULE.replace("PRT101", "PRT102"), r"the slug 'api-renamed' is taken"),
    "slug in capitals": (RULE.replace("api-renamed", "Api"), r"slug is not a lower-case slug"),
    "bad severity": (RULE.replace("blocker", "fatal"), r"severity is not one of blocker"),
    "bad effort": (RULE.replace("minutes", "days"), r"effort is not one of"),
    "unknown effort": (
        RULE + EFFORT.replace("review", "checking"),
        r"\[\[effort\]\] 1 \(checking\): name is not one of",
    ),
    "no amount of work": (RULE + EFFORT.replace("2 to 8", "8 to 2"), r"first is no amount of work, as in"),
    "effort in one language": (RULE + EFFORT.replace(', zh = "核"', ""), r"title has no text for 'zh'"),
    "effort of an unknown rule": (RULE + EFFORT + 'codes = ["PRT999"]\n', r"no \[\[rule\]\] has the code PRT999"),
    "effort twice": (RULE + EFFORT + EFFORT, r"the name 'review' is taken"),
    "bad severity of a message": (
        RULE.replace('severity = "note"', 'severity = "bad"'),
        r"message 'note' has the severity",
    ),
    "missing language": (RULE.replace(', zh = "名称"', ""), r"title has no text for 'zh'"),
    "empty text": (RULE.replace('"名称"', '" "'), r"title has no text for 'zh'"),
    "third language": (RULE.replace('zh = "名称"', 'zh = "名称", fr = "nom"'), r"title has the unknown key 'fr'"),
    "message in one language": (RULE.replace(', zh = "如此"', ""), r"message 'note' has no text for 'zh'"),
    "unknown key of a message": (RULE.replace('effort = "hours"', 'hours = "2"'), r"unknown key 'hours'"),
    "placeholder in one language": (RULE.replace("{old} 是 {new}", "{old}"), r"other placeholders"),
    "code in braces": (
        RULE + API + 'message = { en = "`npu:{rank}`", zh = "`npu:{rank}`" }\n',
        r"message has a text with \{rank\}: its places know only name, new, old, to",
    ),
    "no message": (
        RULE[: RULE.index("[rule.message]")] + "message = {}\n",
        r"message is not a table with at least one",
    ),
    "no default message": (RULE.replace("default =", "renamed =") + API, r"has no message called 'default'"),
    "message key taken": (
        RULE + API.replace("torch.cuda.CUDAGraph", "note") + 'symptom = "x"\n',
        r"already has a message called 'note'",
    ),
    "before without after": (RULE.replace('after = "y"\n', ""), r"'before' and 'after' belong together"),
    "no example": (RULE.replace('before = "x"\nafter = "y"\n', ""), r"'before' and 'after' belong together"),
    "a member without its library": (GONE + 'member = { "as_old" = "as_new" }', r"a member has its 'import'"),
    "a keyword without its calls": (
        GONE + 'import = "library"\nkeyword = { "old" = "new" }',
        r"a keyword its 'call' as well",
    ),
    "name twice": (RULE + NAMESPACE + NAMESPACE, r"torch\.cuda\.synchronize is mapped twice"),
    "name in a namespace and an api": (RULE + NAMESPACE + API.replace("CUDAGraph", "synchronize"), r"mapped twice"),
    "an older name for no version": (
        RULE + VARIABLE.replace('older_for = ["2.1.0"]\n', ""),
        r"'older' and 'older_for' say one",
    ),
    "variable twice": (RULE + VARIABLE + VARIABLE, r"A is mapped twice"),
    "parameter twice": (RULE + PARAMETER + PARAMETER, r"mapped twice"),
    "to without fix": (RULE + API.replace('fix = "safe"\n', ""), r"'to' and 'fix' belong together"),
    "what stays, and moves": (RULE + API + "stays = true\n", r"what stays is no finding: leave out 'to'"),
    "fix without to": (RULE + API.replace('to = "NPUGraph"\n', ""), r"'to' and 'fix' belong together"),
    "bad fix": (RULE + API.replace("safe", "auto"), r"fix is not one of safe, review"),
    "example of a move in one line": (RULE + API.replace('"a", "b"', '"a"'), r"'example' is one line, and a second"),
    "example of three lines": (RULE + API.replace('"a", "b"', '"a", "b", "c"'), r"example has more than 2 entries"),
    "name that is none": (RULE + NAMESPACE.replace("synchronize", "sync()"), r"names has the entry 'sync\(\)'"),
    "names that are no list": (RULE + NAMESPACE.replace('["synchronize"]', '"synchronize"'), r"names is not a list"),
    "limit of no chip": (
        RULE + LIMIT.replace("910", "V100"),
        r"\[\[limit\]\] 1 \(torch\.f\): soc has the entry 'V100'",
    ),
    "limit that is inferred": (RULE + LIMIT.replace('"V"', '"I"'), r"grade is not one of V, E"),
    "limit without a ground": (RULE + LIMIT.replace('evidence = "e"\n', ""), r"'evidence' is missing"),
    "variable in one language": (RULE + NPU_VARIABLE.replace(', zh = "值"', ""), r"text has no text for 'zh'"),
    "variable of an NPU twice": (RULE + NPU_VARIABLE + NPU_VARIABLE, r"HCCL_A stands there twice"),
    "plugin of which nobody says what to do": (RULE + PLUGIN, r"says in 'message' or 'steps'"),
    "bad value": (RULE + VARIABLE.replace("bytes-to-mb", "double"), r"value is not one of keep, bytes-to-mb"),
    "value without to": (RULE + VARIABLE.replace('to = "C"\nfix = "review"\n', ""), r"'value' without 'to'"),
    "bad sink": (RULE + SINK.replace('"device"', '"gpu"'), r"kind is not one of device, backend"),
    "sink nowhere": (RULE + SINK.replace('call = ["torch.device"]\n', ""), r"a sink needs 'call' or 'method'"),
    "sink without argument": (RULE + SINK.replace("position = 0\n", ""), r"a sink needs 'position' or 'keyword'"),
    "sink at a truth value": (RULE + SINK.replace("position = 0", "position = true"), r"position is not a position"),
    "route of two kinds at once": (
        RULE + ROUTE.replace("least = 2", 'without = "b"'),
        r"'signal' and 'without', and one",
    ),
    "route of nothing": (RULE + ROUTE.replace('signal = "mesh", ', ""), r"does not name one of 'signal' and 'without'"),
    "route of no number": (RULE + ROUTE.replace("= 2", '= "many"'), r"says 'least', which is not a number of files"),
    "route of more than all": (RULE + ROUTE.replace("0.5", "5"), r"says 'share', which is not a share from 0 to 1"),
    "route of an unknown key": (RULE + ROUTE.replace("least", "most"), r"has the unknown key 'most'"),
    "pattern that is none": (RULE + HINT.replace("(", ""), r"words has the entry '', which is no regular expression$"),
    "pattern that ends early": (RULE + HINT, r"which is no regular expression: missing \)"),
    "parameter that changes nothing": (
        RULE + PARAMETER.replace('rename = { device = "device_name" }\n', ""),
        r"needs 'rename', 'remove' or 'positional'",
    ),
    "parameter renamed to no name": (
        RULE + PARAMETER.replace('"device_name"', '"device name"'),
        r"rename renames 'device'",
    ),
}


@pytest.mark.parametrize("text, complaint", BAD.values(), ids=BAD.keys())
def test_what_the_schema_refuses(folder, text, complaint):
    with pytest.raises(RuleError) as error:
        table.load(folder(text))
    assert re.search(complaint, str(error.value)), str(error.value)
    assert str(error.value).startswith("rules/a.toml: ") and "\n" not in str(error.value)


def test_no_effort_is_left_out(folder):
    with pytest.raises(RuleError, match=r"^rules/effort\.toml: no \[\[effort\]\] has the name 'automatic'$"):
        table.load(folder(RULE + EFFORT))


def test_bytes_that_are_no_text(folder):
    with pytest.raises(RuleError, match=r"^rules/a\.toml: "):
        table.load(folder(b'x = "\xff"'))


def test_no_rules_at_all(tmp_path):
    with pytest.raises(RuleError, match="nowhere: "):
        table.load(tmp_path / "nowhere")


def test_the_split_into_files_is_for_people(folder):
    one = table.load(folder(ALL))
    place = folder(RULE, "z.toml")  # stanzas may stand in front of the rule whose code they name
    assert forget() is None
    folder(ALL.removeprefix(RULE))
    assert table.load(place) == one


def test_build_wants_no_files():
    assert build([])["tables"]["moves"] == {}


def test_a_missing_value_is_a_mistake():
    with pytest.raises(LookupError, match="no value for {new}"):
        fill("{old} is {new}, {'a': 1}", {"old": "x"}, "PRT101 default")
    assert fill("{old} is {new}, {'a': 1}", {"old": "x", "new": "{old}"}, "") == "x is {old}, {'a': 1}"


def test_what_happens_to_an_api(folder):
    texts = Texts(folder(ALL))
    graph = texts.api("torch.cuda.CUDAGraph")
    assert (graph.to, graph.status, graph.before, graph.after) == ("torch.npu.NPUGraph", "auto", "a", "b")
    assert graph.message["en"] == "torch.cuda.CUDAGraph is torch.npu.NPUGraph"
    assert texts.api("A").status == "review"
    assert texts.api("torch.cuda.nothing") is None


def test_what_was_meant(folder):
    texts = Texts(folder(ALL))
    assert texts.suggest("PRT110")[0] == "PRT101"
    assert texts.suggest("api-renmaed")[0] == "api-renamed"
    assert texts.suggest("torch.cuda.syncronize")[0] == "torch.cuda.synchronize"
    assert texts.suggest("cudagraph") == ["torch.cuda.CUDAGraph"]
    assert texts.suggest("qqqqqq") == []


def test_a_grade_has_evidence_and_what_is_inferred_says_so():
    graded = 0
    for path in sorted(rules_dir().glob("*.toml")):
        for kind, rows in tomli.loads(path.read_text("utf-8")).items():
            for row in rows:
                assert "grade" not in row or row["evidence"], f"{path.name}: [[{kind}]] has a grade, and no evidence"
                if row.get("grade") == "I":
                    assert "porter's reading" in row["evidence"], f"{path.name}: {row['evidence']}"
                graded += "grade" in row
    assert graded > 250
