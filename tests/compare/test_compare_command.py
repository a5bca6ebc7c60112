"""`porter compare` as a user runs it: exit codes, formats, languages, the repository; and what no log may make it do."""

from __future__ import annotations

import gzip
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from command_line import Porter, write
from compare_world import NAMES, curve, records, written
from drawn import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from porter.compare.pair import Pair
from porter.compare.read import read
from porter.compare.tree import judge
from porter.compare.verdict import CODES, STAGES
from porter.errors import UserError
from porter.files.errors import FilesError
from porter.rulebook.words import words

pytestmark = pytest.mark.slow  # each runs the command on a project

SCHEMA = Path(__file__).parents[2] / "porter" / "compare" / "schema.json"
HAN = re.compile(r"[\u4e00-\u9fff]")


@pytest.fixture
def porter(tmp_path, monkeypatch):
    folder = tmp_path / "here"
    folder.mkdir()
    losses = curve()
    written(folder / "a.jsonl", records(samples_per_second=[310.0] * 40))
    written(folder / "same.jsonl", records(samples_per_second=[155.0] * 40))
    written(folder / "forward.jsonl", records([loss * 1.01 for loss in losses]))
    written(folder / "backward.jsonl", records(norms={NAMES[0]: 0.2}))
    (folder / "text.log").write_text("".join(f"step {n} loss {loss * 1.1:.4f}\n" for n, loss in enumerate(losses, 1)))
    return Porter(monkeypatch, folder)


@pytest.mark.parametrize(
    ("candidate", "code"), [("same.jsonl", 0), ("forward.jsonl", 1), ("backward.jsonl", 1), ("text.log", 4)]
)
def test_exit_codes_and_texts(porter, candidate, code):
    answer, again = porter("compare", "a.jsonl", candidate), porter("compare", "a.jsonl", candidate)
    assert (answer.code, answer.err) == (code, "") and answer.out == again.out
    chinese = porter("compare", "a.jsonl", candidate, "--lang", "zh")
    assert HAN.search(chinese.text) and not HAN.search(answer.text)
    assert len(chinese.text.splitlines()) == len(answer.text.splitlines())
    first = answer.text.split("\n\n")[1]
    assert first.startswith("verdict: ") and ("no difference" in first) == (code == 0)


def test_evidence_and_what_to_check(porter):
    text = porter("compare", "a.jsonl", "backward.jsonl").text
    assert "verdict: backward" in text and NAMES[0] in text and "step 1: loss" in text and "what to check next" in text
    assert "155 samples a second, the candidate at 50 %" in porter("compare", "a.jsonl", "same.jsonl").text


@pytest.mark.parametrize("candidate", ["same.jsonl", "forward.jsonl", "text.log"])
def test_json_holds_its_schema(porter, candidate):
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed: it is in the `dev` extra")
    schema = json.loads(SCHEMA.read_text("utf-8"))
    found = json.loads(porter("compare", "a.jsonl", candidate, "--format", "json").text)
    jsonschema.validate(found, schema)
    assert schema["properties"]["stage"]["enum"] == [*STAGES, None]
    porter("compare", "a.jsonl", candidate, "-o", "found.json")
    assert json.loads((porter.folder / "found.json").read_text("utf-8")) == found


class Page(HTMLParser):
    """Which elements there are, and what they ask of the network."""

    def __init__(self, text: str):
        super().__init__()
        self.tags: list[str] = []
        self.addresses: list[str] = []
        self.points: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        for name, value in attributes:
            if name in ("src", "href", "action") and not (value or "").startswith("#"):
                self.addresses.append(value or "")
            if name == "points":
                self.points.append(value or "")


def test_the_page(porter):
    porter("compare", "a.jsonl", "forward.jsonl", "--rerun", "same.jsonl", "-o", "page.html")
    text = (porter.folder / "page.html").read_text("utf-8")
    page = Page(text)
    assert page.addresses == [] and "default-src 'none'" in text
    assert page.tags.count("svg") == 4 and len(page.points[0].split()) == 40
    for said in ("forward: same weights, same batch", "前向：权重与批次相同", "step 1: loss"):
        assert said in text
    assert porter("compare", "a.jsonl", "forward.jsonl", "--rerun", "same.jsonl", "--format", "html").text == text


def test_the_steps_of_a_resumed_run_are_named_in_full(porter):
    for name, losses in (("one.jsonl", curve()), ("other.jsonl", [loss * 1.01 for loss in curve()])):
        written(porter.folder / name, records(losses, start=1_234_567))
    page = porter("compare", "one.jsonl", "other.jsonl", "--format", "html").text
    assert "steps 1234567 to 1234606" in page


def test_the_band_of_noise_is_drawn(porter):
    """Around the baseline, and from zero on where the distance is drawn; none where the baseline repeats itself."""
    losses = [loss + 0.02 * (-1) ** n for n, loss in enumerate(curve())]
    written(porter.folder / "again.jsonl", records(losses))
    made = {}
    for rerun in ("again.jsonl", "same.jsonl"):
        porter("compare", "a.jsonl", "forward.jsonl", "--rerun", rerun, "-o", "page.html")
        text = (porter.folder / "page.html").read_text("utf-8")
        made[rerun] = re.findall(r'<polygon class="band" points="([^"]+)"', text)
        assert ("twice the noise of the baseline" in text) == (rerun == "again.jsonl")
    around, above = ([tuple(map(float, point.split(","))) for point in band.split()] for band in made["again.jsonl"])
    assert len(around) == len(above) == 80 and made["same.jsonl"] == []
    assert all(upper[0] == lower[0] and upper[1] < lower[1] for upper, lower in zip(around[:40], reversed(around[40:])))
    assert {y for _, y in above[40:]} == {120.0}


def test_nothing_of_a_log_ends_the_page_or_hides(porter):
    evil = "</script><script>alert(1)</script>\u202e`{0}"
    for name, norms in (("evil.jsonl", 1.0), ("other.jsonl", 3.0)):
        made = records()
        made[1]["parameters"][evil] = {"norm": norms, "shape": [2], "dtype": "float32"}
        written(porter.folder / name, made)
    answer = porter("compare", "evil.jsonl", "other.jsonl", "-o", "page.html")
    text = (porter.folder / "page.html").read_text("utf-8")
    assert answer.code == 1 and "\u202e" not in answer.text and "\\u202e" in answer.text
    assert "alert(1)" in text and "<script>alert" not in text and "\u202e" not in text


@pytest.mark.slow
def test_a_long_curve_is_thinned_with_its_jumps(porter):
    losses = curve(5000)
    other = [*losses[:3000], 9.0, *losses[3001:]]
    for name, made in (("long.jsonl", losses), ("jump.jsonl", other)):
        written(porter.folder / name, records(made, batches=3))
    answer = porter("compare", "long.jsonl", "jump.jsonl", "-o", "page.html")
    text = (porter.folder / "page.html").read_text("utf-8")
    assert answer.code == 1 and "3001" in answer.text and len(text) < 90_000
    assert any("0.0" in point.split(",")[1] for point in Page(text).points[1].split())  # as high as the chart


def test_the_places_in_the_repository(porter):
    write(
        porter.folder / "repo",
        {"train.py": "import torch\ntorch.backends.cuda.matmul.allow_tf32 = True\nx = torch.ones(2).double().cuda()\n"},
    )
    answer = porter("compare", "a.jsonl", "forward.jsonl", "--repo", "repo")
    assert answer.code == 1 and re.search(r"repo/train\.py:2: PRT303 ", answer.text)
    assert "PRT130" not in answer.text
    found = json.loads(porter("compare", "a.jsonl", "same.jsonl", "--repo", "repo", "--format", "json").text)
    assert found["repository"] == {"root": "repo", "codes": [], "places": []}


def test_reading_commands_write_nothing(porter):
    write(porter.folder / "repo", {"train.py": "import torch\nx = torch.ones(2).cuda()\n"})
    before = {path: path.read_bytes() for path in porter.folder.rglob("*") if path.is_file()}
    porter("compare", "a.jsonl", "forward.jsonl", "--repo", "repo")
    assert before == {path: path.read_bytes() for path in porter.folder.rglob("*") if path.is_file()}


def test_codes_of_stages_are_codes_of_rules():
    known = set(re.findall(r"PRT\d{3}", (SCHEMA.parents[2] / "docs" / "rules.md").read_text("utf-8")))
    assert CODES.keys() == set(STAGES)
    for code in {code for codes in CODES.values() for code in codes}:
        assert any(name.startswith(code) for name in known), code


def test_every_stage_says_what_to_check():
    for lang in ("en", "zh"):
        texts = words("compare", lang)
        assert all(f"next.{stage}.1" in texts and f"stage.{stage}" in texts for stage in STAGES)


BAD = {
    "empty": b"",
    "blank": b"\n \n",
    "binary": b"\x7fELF\0\0\0\0" + bytes(range(256)) * 9,
    "prose": b"nothing to see here\n" * 50,
    "wandb": b":W&B\x01\xed\xbe\0" + b"x" * 100,
    "document": b'{\n  "a": [1, 2]\n}\n',
    "broken document": b'{\n  "log_history": [\n',
    "header alone": json.dumps({"kind": "run", "format": 1}).encode() + b"\n",
    "deep": b"[\n" * 200_000,
    "code": b"__import__('os').system('touch hacked')\n",
}


@pytest.mark.parametrize("kind", BAD)
@pytest.mark.parametrize("side", [0, 1])
def test_what_is_no_log(porter, kind, side):
    """One line that names the file, and no verdict."""
    (porter.folder / "bad").write_bytes(BAD[kind])
    names = ["a.jsonl", "a.jsonl"]
    names[side] = "bad"
    answer = porter("compare", *names)
    assert answer.code == 2 and not answer.out and answer.err.count("\n") == 1, answer
    assert answer.err.startswith("porter: bad: ") and not (porter.folder / "hacked").exists()
    assert HAN.search(porter("compare", *names, "--lang", "zh").err)


@pytest.mark.slow
def test_names_that_lead_nowhere(porter):
    (porter.folder / "folder").mkdir()
    (porter.folder / "half.gz").write_bytes(gzip.compress(b"step 1 loss 2\n" * 9999)[:-20])
    for words_, told in (
        (["none", "a.jsonl"], "none: no such file"), (["a.jsonl", "folder"], "folder: no loss"), (["-", "-"], "standard input"),
        (["a.jsonl", "half.gz"], "half.gz: damaged gzip data"), (["a.jsonl", "a.jsonl", "-o", "x.pdf"], "suffix"),
        (["a.jsonl", "a.jsonl", "--format", "pdf"], "--format"), (["a.jsonl", "a.jsonl", "--repo", "gone"], "gone"),
    ):  # fmt: skip
        answer = porter("compare", *words_)
        assert answer.code == 2 and told in answer.err and not answer.out, (words_, answer)


def test_standard_input(porter):
    data = (porter.folder / "same.jsonl").read_bytes()
    assert porter("compare", "a.jsonl", "-", stdin=data).code == 0


def test_a_log_that_was_cut_off(porter):
    data = (porter.folder / "same.jsonl").read_bytes()
    for cut in (3000, 3037, len(data) // 2):
        (porter.folder / "cut.jsonl").write_bytes(data[:cut])
        answer = porter("compare", "a.jsonl", "cut.jsonl")
        assert answer.code == 0 and "no end" in answer.text, answer


def test_lines_that_are_damaged_are_told(porter):
    lines = (porter.folder / "same.jsonl").read_bytes().splitlines(keepends=True)
    for at in (5, 9):
        lines[at] = lines[at][:12] + b"\xff\n"
    lines.insert(4, b"stdout of somebody\n")
    (porter.folder / "mixed.jsonl").write_bytes(b"".join(lines))
    answer = porter("compare", "a.jsonl", "mixed.jsonl")
    assert answer.code == 0 and "2 lines are no JSON and left out, line 7 first" in answer.text


def test_a_log_of_two_runs(porter):
    data = (porter.folder / "forward.jsonl").read_bytes() + (porter.folder / "same.jsonl").read_bytes()
    (porter.folder / "twice.jsonl").write_bytes(data)
    answer = porter("compare", "a.jsonl", "twice.jsonl")
    assert answer.code == 0 and "several runs of ranks [0], the last one is taken" in answer.text


HOSTILE = st.sampled_from(
    [
        '{"kind": "step", "step": -1, "loss": 1}', '{"kind": "step", "step": 1e400, "loss": 1}', '{"kind": "step", "step": 9007199254740993, "loss": 1}',
        '{"kind": "step", "step": 3, "loss": "1e9"}', '{"kind": "step", "step": 3, "loss": 1e400}', '{"kind": "step", "loss": null}',
        '{"kind": "step", "step": 2, "loss": {"a": 1}, "lr": [], "grad_norm": "nan", "loss_scale": "inf"}', '{"kind": "batch"}',
        '{"kind": "weights", "parameters": [1]}', '{"kind": "weights", "parameters": {"a": 3, "b": {"norm": "x"}, "c": {"norm": 1, "shape": 3}}}',
        '{"kind": "optimizer", "groups": [3, {"lr": "x", "betas": 3}]}', '{"kind": "optimizer", "groups": {}}', '{"kind": "modules", "dropout": [1]}',
        '{"kind": "norms", "step": 1, "gradients": {"a": "inf", "b": -1, "c": 0}}', '{"kind": "run", "rank": 1e30, "ranks": "x", "determinism": 3}',
        '{"kind": ["run"]}', '{"kind": "batch", "step": 1, "inputs": [3, {"path": 1, "hash": 2}, {"hash": "zz"}]}', '{"kind": "end"}', "[1]", "{", "loss: nan",
        '{"kind": "step", "step": 1, "loss": 2.5}', '{"kind": "step", "step": 2, "loss": -0.0}', '{"loss": 1e999, "step": 2}', "step 1 loss 1e308", '{"loss": 2, "step": 1}',
        "iteration 99999999999999999999 loss: 3", "Epoch: [1][ 3/0] loss 3 (3)", "a,b,loss\n1,2,3", "\x1e\x1e\x1e", "step 3 loss -1e308",
    ]
)  # fmt: skip


@pytest.mark.slow
@settings(max_examples=examples(300))
@given(st.lists(HOSTILE, max_size=9), st.lists(HOSTILE, max_size=9))
def test_no_log_ends_in_a_traceback(tmp_path_factory, one, other):
    """What is read is judged; what is not is refused, in one sentence."""
    folder = tmp_path_factory.mktemp("hostile")
    runs = []
    for name, lines in (("a", one), ("b", other)):
        (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
        try:
            runs.append(read(str(folder / name)))
        except (UserError, FilesError):
            return
    from porter.compare.page import page
    from porter.compare.show import document
    from porter.compare.show import lines as shown

    pair = Pair(*runs)
    if pair.ranks:
        verdict = judge(pair)
        found = document(pair, verdict, "en")
        assert shown(found, "en") and page(pair, verdict, found)


@pytest.mark.slow
def test_each_step_takes_a_few_bytes(tmp_path):
    """A run of a million steps takes what fits anywhere: of a step, two numbers are kept."""
    import tracemalloc

    many = 40_000

    def write_long(name: str) -> str:
        lines = (f'{{"kind": "step", "step": {n + 1}, "loss": {2 - n / many:.6f}, "lr": 0.001}}\n' for n in range(many))
        (tmp_path / name).write_text("".join(lines))
        return str(tmp_path / name)

    names = write_long("a"), write_long("b")
    tracemalloc.start()
    try:
        pair = Pair(*map(read, names))
        assert judge(pair).outcome == "none" and len(pair.loss.steps) == many
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 300 * many


def test_ranks_that_the_other_run_does_not_have(porter):
    written(porter.folder / "second.jsonl", records(rank=1))
    for names in (["a.jsonl", "second.jsonl"], ["a.jsonl", "same.jsonl", "--rerun", "second.jsonl"]):
        answer = porter("compare", *names)
        assert answer.code == 2 and "none of its ranks" in answer.err and not answer.out
    for name, ranks in (("many", (0, 1)), ("one", (1,))):
        for rank in ranks:
            written(porter.folder / name / f"{rank}.jsonl", records(rank=rank, header={"ranks": 2}))
    assert porter("compare", "many", "one").code == 0


def test_a_format_of_tomorrow(porter):
    written(porter.folder / "new.jsonl", records(header={"format": 2}))
    answer = porter("compare", "a.jsonl", "new.jsonl")
    assert answer.code == 2 and "new.jsonl: format 2, this porter reads 1" in answer.err
