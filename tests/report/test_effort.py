"""What a port costs: cause by cause, never twice, and with the project's own assumptions."""

from __future__ import annotations

import csv
import io
import json

import pytest
from command_line import write
from report_samples import document_of, made
from test_screen import CALLS, KERNEL, SETUP

from porter.engine.together import paths_of
from porter.report.effort import days
from porter.report.functions import Functions
from porter.report.work import amount as said
from porter.report.work import sentence
from porter.rulebook.effort import NAMES, amount
from porter.rulebook.texts import Texts

pytestmark = pytest.mark.slow  # each runs the command on a project

PROJECT = "[project]\nname = 'r'\n"
FLASH = (
    "import torch\nfrom flash_attn import flash_attn_func\n\n\ndef attend(q):\n    return flash_attn_func(q, q, q)\n"
)
WAITS = """\
import torch


def train(loader, model):
    for x in loader:
        loss = model(x.to("cuda"))
        loss.backward()
        a = loss.item()
        if loss > 3:
            break
        torch.cuda.current_blas_handle()


def again(loader, model):
    for x in loader:
        model(x).backward()
        torch.cuda.jiterator.f()
"""
FILES = {
    "setup.py": SETUP,
    "warp.cu": KERNEL,
    "use.py": CALLS,
    "attention.py": FLASH,
    "more/attention.py": FLASH,
    "requirements.txt": "flash-attn\n",
    "train.py": WAITS,
    "run.sh": "#!/bin/bash\nexport NCCL_DEBUG=INFO\npython train.py\n",
    "tests/test_attention.py": FLASH,
    "tools/show.py": "import torch\nprint(torch.cuda.current_blas_handle())\n",
}


@pytest.fixture
def porter(tmp_path, monkeypatch):
    return made(monkeypatch, tmp_path / "r", {**FILES, "pyproject.toml": PROJECT})


@pytest.fixture(scope="module")
def document(tmp_path_factory):
    return document_of(tmp_path_factory.mktemp("effort"), {**FILES, "pyproject.toml": PROJECT})


def read(porter, *args: str) -> dict:
    return json.loads(porter("analyze", ".", "--format", "json", *args).out)


def items(document: dict, **wanted: str) -> list[dict]:
    return [item for item in document["effort"]["items"] if all(item[key] == value for key, value in wanted.items())]


def paths(document: dict, item: dict) -> list[str]:
    by_mark = {f["fingerprint"]: f for f in document["findings"]}
    found = (by_mark[mark] for mark in item["findings"])
    return [path for f in found for path in paths_of(f["path"], f["values"])]


@pytest.mark.slow
def test_a_kernel_is_one_item_and_its_calls_cost_nothing_more(document):
    (kernel,) = items(document, what="kernel")
    assert kernel["kind"] == "kernel-written" and kernel["minutes"] == [960, 3840]
    assert {*paths(document, kernel)} == {"use.py", "warp.cu"} and len(kernel["findings"]) == 1


def test_a_kernel_whose_replacement_is_named_costs_hours(tmp_path, monkeypatch):
    files = {"setup.py": SETUP, "warp.cu": KERNEL.replace("warp_kernel", "nms_kernel"), "use.py": CALLS}
    (kernel,) = items(read(made(monkeypatch, tmp_path / "s", files)), what="kernel")
    assert kernel["kind"] == "kernel-replaced" and kernel["minutes"] == [120, 480]


def test_a_package_is_one_item_in_code_and_in_lists(document):
    (package,) = items(document, what="package")
    assert package["subject"] == "flash-attn"
    found = {"attention.py", "more/attention.py", "requirements.txt", "tests/test_attention.py"}
    assert {*paths(document, package)} == found
    rates = {row["name"]: row for row in document["effort"]["assumptions"]}[package["kind"]]
    own = sum(not path.startswith("tests/") for path in paths(document, package))
    assert package["minutes"] == [rates["first"][n] + (own - 1) * rates["further"][n] for n in (0, 1)]
    assert package["aside"] == rates["further"]


@pytest.mark.parametrize(
    ("package", "kind"),
    [("spconv", "package-replaced"), ("nvdiffrast", "package-written"), ("natten", "package-written")],
)
def test_no_package_is_written_anew_whose_replacement_is_named(tmp_path, monkeypatch, package, kind):
    texts = Texts()
    row = texts.package(package).row
    assert texts.effort(row.code, row.why) == "rewrite" and (kind == "package-replaced") == bool(row.replacement)
    code = f"import torch\nimport {package}\n\n\ndef f(x):\n    return {package}.g(x.cuda())\n"
    (item,) = items(read(made(monkeypatch, tmp_path / "s", {"a.py": code})), what="package")
    assert item["kind"] == kind


def test_tests_and_tools_are_counted_apart(document, porter):
    aside = [item for item in document["effort"]["items"] if item["aside"][1]]
    mine = {path for item in aside for path in paths(document, item) if path.startswith(("tests/", "tools/"))}
    assert mine == {"tests/test_attention.py", "tools/show.py"}
    for n in (0, 1):
        assert document["effort"]["aside"]["minutes"][n] == sum(item["aside"][n] for item in aside) > 0
    assert "more in tests, demos, docs and tools" in " ".join(porter("analyze", ".").text.split())


def test_what_trains_among_the_tools_is_no_tool(tmp_path, monkeypatch):
    tool = FILES["tools/show.py"]
    where = ("tools/train_net.py", "tools/plot.py", "demo/show.py", "src/democracy.py")
    files = {path: tool.replace("print(", f"print({number}, ") for number, path in enumerate(where)}  # no copies
    found = read(made(monkeypatch, tmp_path / "s", files))
    (item,) = items(found, what="other")
    by_mark = {f["fingerprint"]: f for f in found["findings"]}
    own = {by_mark[mark]["path"] for mark in item["findings"][:2]}
    assert own == {"tools/train_net.py", "src/democracy.py"}
    assert item["minutes"] == [sum(by_mark[mark]["minutes"][n] for mark in item["findings"][:2]) for n in (0, 1)]


def test_every_cost_is_counted_once(document):
    work = document["effort"]
    marks = [mark for item in work["items"] for mark in item["findings"]]
    assert len(marks) == len({*marks})
    costs = {f["fingerprint"]: f["minutes"] for f in document["findings"]}
    for n in (0, 1):
        assert work["minutes"][n] == sum(item["minutes"][n] for item in work["items"])
        of_checks = sum(item["minutes"][n] for item in items(document, what="checks"))
        both = work["minutes"][n] + work["aside"]["minutes"][n] - of_checks
        assert both == sum(cost[n] for cost in costs.values()) == sum(costs[mark][n] for mark in marks)


@pytest.mark.slow
def test_notes_and_what_is_suppressed_cost_nothing(document, porter):
    notes = [f for f in document["findings"] if f["severity"] == "note" and f["status"] == "manual"]
    assert notes and all(f["minutes"] == [0, 0] for f in notes)
    text = porter.folder / "tools/show.py"
    text.write_text(text.read_text().replace("())\n", "())  # porter: ignore[PRT105, PRT101] a test\n"))
    assert sum(f["minutes"][1] for f in read(porter)["findings"] if f["path"] == "tools/show.py") == 0


def test_edits_cost_their_reading_file_by_file_and_message_by_message(document):
    due = [f for f in document["findings"] if not f["optional"] and f["suppressed"] is None]
    (automatic,) = items(document, kind="automatic")
    files = {f["path"] for f in due if f["status"] == "auto"}
    assert [a + b for a, b in zip(automatic["minutes"], automatic["aside"])] == [len(files), 3 * len(files)]
    messages = {(f["code"], f["why"]) for f in due if f["status"] == "review"}
    assert len(items(document, kind="review")) == len(messages)


def test_places_of_one_rule_in_one_function_are_one_item(tmp_path, monkeypatch):
    odd = "torch.cuda.current_blas_handle(), torch.cuda.current_solver_handle()"
    files = {"a.py": f"import torch\n\n\ndef f():\n    return {odd}\n"}
    (item,) = items(read(made(monkeypatch, tmp_path / "s", files)), what="other", code="PRT105")
    assert len(item["findings"]) == 2
    apart = f"import torch\n\n\ndef f():\n    return {odd.partition(',')[0]}\n\n\ndef g():\n    return {odd.partition(', ')[2]}\n"
    assert len(items(read(made(monkeypatch, tmp_path / "t", {"a.py": apart})), what="other", code="PRT105")) == 2


def test_a_file_that_was_not_analysed_costs_its_reading(tmp_path, monkeypatch):
    broken = {f"old{n}.py": "import torch\nprint 'cuda'\n" for n in range(3)}
    (item,) = items(read(made(monkeypatch, tmp_path / "s", broken)), what="unread")
    assert item["minutes"] == [45, 180]


def test_nothing_to_do_has_no_effort(tmp_path, monkeypatch):
    porter = made(monkeypatch, tmp_path / "s", {"a.py": "import torch\nx = torch.ones(3)\n"})
    assert read(porter)["effort"]["items"] == []
    assert "Effort" not in porter("analyze", ".").text


@pytest.mark.slow
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_every_format_says_the_same(porter, lang):
    outputs = [word for form in ("json", "html", "md", "csv") for word in ("--output", f"r.{form}")]
    text = " ".join(porter("analyze", ".", "--lang", lang, *outputs).text.split()).replace(" ", "")
    document = json.loads((porter.folder / "r.json").read_text("utf-8"))
    work = document["effort"]
    whats = [item["what"] for item in work["items"] if item["minutes"][1]]
    line = sentence(work["minutes"], work["aside"]["minutes"], whats, lang)
    assert line.replace(" ", "") in text
    assert line in (porter.folder / "r.md").read_text("utf-8")
    assert line in (porter.folder / "r.html").read_text("utf-8")
    rows = list(csv.DictReader(io.StringIO((porter.folder / "r.csv").read_text("utf-8-sig"))))
    for n, name in enumerate(("Least Minutes", "Most Minutes")):
        assert sum(int(row[name]) for row in rows) == sum(f["minutes"][n] for f in document["findings"]) > 0


@pytest.mark.slow
def test_the_project_has_its_own_assumptions(porter, document):
    own = '[tool.porter.effort]\nkernel-written = "1 to 2 days"\nautomatic = { further = "1 minutes" }\n'
    write(porter.folder, {"pyproject.toml": PROJECT + own})
    changed = read(porter)
    assert items(changed, what="kernel")[0]["minutes"] == [480, 960]
    rates = {row["name"]: (row["first"], row["further"]) for row in changed["effort"]["assumptions"]}
    assert rates["automatic"] == ([1, 3], [1, 1])
    before = {row["name"]: (row["first"], row["further"]) for row in document["effort"]["assumptions"]}
    assert {name for name in NAMES if rates[name] != before[name]} == {"kernel-written", "automatic"}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (
            'kernle-written = "1 days"',
            "porter.toml:2: effort: unknown key 'kernle-written'; did you mean 'kernel-written'?",
        ),
        ('xyzzy = "1 days"', "porter.toml:2: effort: unknown key 'xyzzy'; known keys: automatic, review, "),
        ('review = "long"', "porter.toml:2: effort: review is an amount of work, or two: "),
        ('review = "3 to 2 hours"', "porter.toml:2: effort: review is an amount of work, or two: "),
        ("review = 3", "porter.toml:2: effort: review is an amount of work, or two: "),
        ("review = {}", "porter.toml:2: effort: review is an amount of work, or two: "),
        ('review = { last = "1 days" }', "porter.toml:2: effort: review is an amount of work, or two: "),
    ],
)
def test_a_mistake_in_them_is_one_line(porter, text, complaint):
    write(porter.folder, {"porter.toml": f"[effort]\n{text}\n"})
    done = porter("analyze", ".")
    assert done.code == 2 and done.err.count("\n") == 1 and complaint in done.err
    write(porter.folder, {"porter.toml": "effort = 3\n"})
    assert "porter.toml:1: effort is a table" in porter("analyze", ".").err


def test_every_assumption_is_there():
    assert [*Texts().named("efforts")] == [*NAMES]


@pytest.mark.parametrize(
    ("text", "minutes"),
    [
        ("2 to 8 hours", (120, 480)),
        ("30 minutes", (30, 30)),
        ("0.5 to 1 days", (240, 480)),
        ("8 to 2 hours", None),
        ("2 weeks", None),
        ("2-8 hours", None),
        (3, None),
    ],
)
def test_amounts_as_they_are_written(text, minutes):
    assert amount(text) == minutes


@pytest.mark.parametrize(
    ("minutes", "shown"),
    [((0, 0), (0, 0)), ((0, 10), (0, 0.5)), ((460, 1750), (1, 3.5)), ((4800, 9999), (10, 21)), ((119, 120), (0, 0.5))],
)
def test_days_are_rounded_as_they_are_said(minutes, shown):
    assert days(minutes) == shown


@pytest.mark.parametrize(
    ("minutes", "en", "zh"),
    [
        ((1, 3), "1 to 3 minutes", "1 至 3 分钟"),
        ((0, 3), "up to 3 minutes", "至多 3 分钟"),
        ((1, 1), "1 minute", "1 分钟"),
        ((15, 15), "15 minutes", "15 分钟"),
        ((60, 240), "1 to 4 hours", "1 至 4 小时"),
        ((100, 250), "1.5 to 4.5 hours", "1.5 至 4.5 小时"),
        ((960, 3840), "2 to 8 person-days", "2 至 8 人天"),
    ],
)
def test_amounts_in_words(minutes, en, zh):
    assert (said(minutes, "en"), said(minutes, "zh")) == (en, zh)


SOURCE = b"""\
class A:
    def f(
        self,
    ):
        # note
        x = call(
            1
        )
        def inner():
            return 2
        return x

    y = 3
async def g():
    pass
"""


@pytest.mark.parametrize(("line", "start"), [(7, 2), (10, 9), (11, 2), (13, 0), (15, 14), (1, 0), (2, 0), (99, 14)])
def test_the_function_around_a_line(line, start):
    assert Functions({"a.py": SOURCE, "a.sh": SOURCE}.get).around("a.py", line) == start
    assert Functions({"a.sh": SOURCE}.get).around("a.sh", line) == 0 == Functions({}.get).around("gone.py", line)
