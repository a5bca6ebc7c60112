"""The report: every number recomputed from the findings, both languages, the schema, golden bytes."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from string import Formatter

import pytest
from report_samples import ORDINARY, made

from porter.analysis.session import open_session
from porter.finding import EFFORTS, SEVERITIES, STATUSES, FileResult, Finding
from porter.report import FORMATS, SUFFIXES, format_of, render
from porter.report.console import lines
from porter.report.json import document
from porter.report.model import Report, Scan, View
from porter.rulebook.words import words
from porter.terminal import columns, pad, plain

REPOSITORY = {
    **ORDINARY,
    "lib/util.py": "import torch\n\n\ndef wait():\n    torch.cuda.synchronize()  # porter: ignore[PRT201] stale\n",
    "build/made.py": "import torch\ntorch.cuda.synchronize()\n",
}
GOLDEN = Path(__file__).parents[1] / "golden"


@pytest.fixture
def porter(tmp_path, monkeypatch):
    return made(monkeypatch, tmp_path / "r", REPOSITORY)


def finding(path="a.py", line=1, code="PRT101", severity="blocker", status="auto", suppressed=None):
    why, text = sorted(open_session().rules.texts.rule(code).messages.items())[0]
    values = tuple((name, "x") for name in sorted({name for _, name, _, _ in Formatter().parse(text["en"]) if name}))
    return Finding(path, line, 1, code, why, values, line, 9, severity, status, "minutes", (), suppressed)


def report(*found: Finding, **more) -> Report:
    by_path: dict[str, list[Finding]] = {}
    for f in found:
        by_path.setdefault(f.path, []).append(f)
    files = tuple(
        FileResult(p, tuple(sorted(fs)), lines=3, parsed=True, digest="x") for p, fs in sorted(by_path.items())
    )
    return Report("0", open_session(), Scan(files), **more)


def test_severities_and_the_like_are_called_what_they_are():
    for word in (*SEVERITIES, *STATUSES, *EFFORTS):
        assert words("report", "en")[word] == word


def test_every_suffix_and_format_is_there():
    assert set(SUFFIXES.values()) == set(FORMATS) - {"github"}  # which is for stdout alone
    for name in FORMATS:
        assert render(report(finding()), name).endswith("\n")
    assert format_of("a/B.JSON") == "json"


def test_readiness_counts_what_stands_in_the_way_and_nothing_else():
    r = report(
        finding(line=1),
        finding(line=2, status="review", severity="wrong"),
        finding(line=3, status="manual", severity="slow"),
        finding(line=4, severity="note"),
        finding(line=5, suppressed="because"),
        finding(line=6, code="PRT002", status="manual", severity="wrong"),
    )
    assert r.findings.readiness == (1, 3)
    assert len(r.findings.open) == 5 and len(r.findings.suppressed) == 1
    known = finding(line=1)
    assert report(*r.findings.all, known=frozenset({known})).findings.readiness == (1, 3), (
        "a baseline makes nobody ready"
    )


@pytest.mark.slow
def test_rounding_never_says_all_where_one_is_missing():
    r = report(*(finding(line=n) for n in range(1, 300)), finding(line=300, status="manual"))
    assert "299 of 300 CUDA-dependent places (99 %)" in plain(lines(replace(r, view=View("grouped"))))


def test_files_are_ranked_by_their_worst_finding():
    r = report(
        finding("a.py", 1, severity="note"),
        finding("b.py", 9, severity="blocker"),
        finding("b.py", 1, severity="slow"),
        finding("c.py", 1, severity="wrong"),
        finding("d.py", 2, severity="blocker"),
    )
    assert [(path, [f.line for f in found]) for path, found in r.findings.by_file] == [
        ("b.py", [9, 1]), ("d.py", [2]), ("c.py", [1]), ("a.py", [1]),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("worst", "limit", "fails"),
    [
        ("blocker", "blocker", 1),
        ("wrong", "blocker", 0),
        ("wrong", "wrong", 1),
        ("slow", "wrong", 0),
        ("slow", "slow", 1),
        ("note", "slow", 0),
        ("note", "note", 1),
    ],
)
def test_fail_on(worst, limit, fails):
    assert report(finding(severity=worst)).findings.fails(limit) is bool(fails)
    assert not report(finding(severity=worst, suppressed="")).findings.fails(limit)
    assert not report(finding(severity=worst), known=frozenset({finding(severity=worst)})).findings.fails(limit)


def test_chinese_columns_line_up():
    assert columns("阻断") == 4 and pad("阻断", 6, False) == "阻断  " and pad("a", 3, True) == "  a"


def test_a_name_that_a_terminal_would_obey_is_shown_harmlessly():
    text = plain(lines(report(finding("a\x1b[31m.py"))))
    assert "\x1b" not in text and "\\x1b[31m.py" in text


@pytest.mark.slow
def test_numbers_of_text_and_json_agree_with_the_findings(porter):
    got = json.loads(porter("analyze", ".", "--format", "json").out)
    summary, found = got["summary"], got["findings"]
    open_ones = [f for f in found if f["suppressed"] is None and not f["baseline"]]
    counts = Counter((f["severity"], f["status"]) for f in open_ones if not f["optional"])
    assert summary["optional"] == sum(f["optional"] for f in open_ones) > 0
    assert {(s, t): n for s, row in summary["findings"].items() for t, n in row.items() if n} == dict(counts)
    assert summary["codes"] == dict(sorted(Counter(f["code"] for f in open_ones).items()))
    assert summary["suppressed"] == sum(f["suppressed"] is not None for f in found) == 1
    assert summary["scanned"] == len(got["files"]) == 8 and summary["with_findings"] == len(
        {f["path"] for f in open_ones}
    )
    assert summary["lines"] == sum(f["lines"] for f in got["files"])
    places = [f for f in open_ones if f["severity"] != "note" and not f["code"].startswith("PRT0")]
    assert summary["readiness"] == {"auto": sum(f["status"] == "auto" for f in places), "places": len(places)}
    ranks = [(SEVERITIES.index(f["severity"]), f["path"], f["line"], f["column"]) for f in found]
    assert ranks == sorted(ranks)
    assert got["left_out"] == ["build"]
    text = porter("analyze", ".", "--all").text
    assert f"{summary['readiness']['auto']} of {summary['readiness']['places']} CUDA-dependent places" in text
    assert f"{len(open_ones)} findings: " in text and "Left out for the name alone: build" in text
    for row in text.splitlines():
        if row.strip().startswith(SEVERITIES):
            name, *cells = row.split()
            assert [int(c.replace("-", "0")) for c in cells[:3]] == [summary["findings"][name][s] for s in STATUSES]


@pytest.mark.slow
def test_json_holds_its_schema(porter):
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed: it is in the `dev` extra")
    schema = json.loads((Path(__file__).parents[2] / "porter/report/schema.json").read_text("utf-8"))
    checker = jsonschema.Draft202012Validator(schema)
    checker.check_schema(schema)
    for lang in ("en", "zh"):
        checker.validate(json.loads(porter("analyze", ".", "--format", "json", "--lang", lang).out))
    empty = porter("analyze", "lib/clean.py", "--format", "json").out
    checker.validate(json.loads(empty))
    checker.validate({**json.loads(empty), "project": {"name": "r", "commit": "a" * 40}})
    assert not checker.is_valid({**json.loads(empty), "project": {"commit": "a" * 12}})
    wrong = json.loads(empty)
    wrong["clock"] = "now"
    assert not checker.is_valid(wrong)
    assert not checker.is_valid({**json.loads(empty), "schema": 2})


@pytest.mark.slow
def test_json_of_a_name_that_is_no_unicode(porter):
    name = "b\udcff.py"
    try:
        (porter.folder / name).write_text("import torch\ntorch.cuda.synchronize()\n")
    except OSError:
        name = "b.py"  # the file system takes no such name
        (porter.folder / name).write_text("import torch\ntorch.cuda.synchronize()\n")
    assert name in {f["path"] for f in json.loads(porter("analyze", ".", "--format", "json").out)["files"]}


@pytest.mark.slow
def test_document_says_nothing_of_the_machine(porter):
    text = porter("analyze", ".", "--format", "json").text
    assert str(porter.folder) not in text and "20:" not in text
    assert document(report(finding()))["schema"] == 1


@pytest.mark.parametrize(("name", "args"), [("analyze.json", ["--format", "json"]), ("analyze.txt", ["-v"]),
                                            ("analyze.zh.txt", ["-v", "--lang", "zh"])])  # fmt: skip
def test_golden(porter, golden, name, args):
    golden(GOLDEN / name, porter("analyze", ".", *args).out)
