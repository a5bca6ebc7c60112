"""`porter checklist` as a user runs it: exit codes, formats, languages; and input that is none."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from checklist_world import FACTORY_GPU, MEGATRON, MINDSPEED, PAIRS, ZERO3, written
from command_line import Porter
from drawn import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from porter.checklist.judge import compare
from porter.checklist.read import read_side
from porter.checklist.show import document
from porter.checklist.side import side
from porter.errors import UserError
from porter.files.errors import FilesError

pytestmark = pytest.mark.slow  # each runs the command on a project

SCHEMA = Path(__file__).parents[2] / "porter" / "checklist" / "schema.json"
HAN = re.compile(r"[\u4e00-\u9fff]")
LINES = [next(n for n, row in enumerate(text.splitlines(), 1) if "--seed" in row) for text in (MEGATRON, MINDSPEED)]


@pytest.fixture
def porter(tmp_path, monkeypatch):
    folder = tmp_path / "here"
    folder.mkdir()
    written(folder, {"gpu.sh": MEGATRON, "npu.sh": MINDSPEED, "other.sh": MINDSPEED.replace("--seed 42", "--seed 7")})
    return Porter(monkeypatch, folder)


@pytest.mark.parametrize(("candidate", "code"), [("npu.sh", 0), ("other.sh", 1)])
def test_exit_codes_and_languages(porter, candidate, code):
    answer, again = porter("checklist", "gpu.sh", candidate), porter("checklist", "gpu.sh", candidate)
    assert (answer.code, answer.err) == (code, "") and answer.out == again.out
    chinese = porter("checklist", "gpu.sh", candidate, "--lang", "zh")
    assert HAN.search(chinese.text) and not HAN.search(answer.text)
    assert ("look first at: seed" in answer.text) == (code == 1)


def test_places_and_what_is_folded(porter):
    text = porter("checklist", "gpu.sh", "other.sh").text
    assert f"--seed gpu.sh:{LINES[0]} | --seed other.sh:{LINES[1]}" in text and "  1  seed: 42 | 7" in text
    assert "random initial weights and dropout" in text and "layers: 24 | 24" not in text
    assert "layers: 24 | 24" in porter("checklist", "gpu.sh", "other.sh", "--all").text


@pytest.mark.slow
@pytest.mark.parametrize("name", PAIRS)
def test_json_holds_its_schema(porter, name):
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed: it is in the `dev` extra")
    files, one, other = PAIRS[name]
    written(porter.folder, files)
    found = json.loads(porter("checklist", one, other, "--format", "json").text)
    jsonschema.validate(found, json.loads(SCHEMA.read_text("utf-8")))
    porter("checklist", one, other, "-o", "found.json")
    assert json.loads((porter.folder / "found.json").read_text("utf-8")) == found


class Page(HTMLParser):
    """What a page asks of the network."""

    def __init__(self, text: str):
        super().__init__()
        self.addresses: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.addresses += [
            value or ""
            for name, value in attributes
            if name in ("src", "href", "action") and not (value or "").startswith("#")
        ]


@pytest.mark.slow
def test_the_page(porter):
    porter("checklist", "gpu.sh", "other.sh", "-o", "page.html")
    text = (porter.folder / "page.html").read_text("utf-8")
    assert Page(text).addresses == [] and "default-src 'none'" in text
    for said in (
        "look first at: seed",
        "请先检查：随机种子",
        f"--seed gpu.sh:{LINES[0]}",
        "tensor parallel",
        "张量并行",
    ):
        assert said in text
    assert porter("checklist", "gpu.sh", "other.sh", "--format", "html").text == text


def test_nothing_of_a_file_ends_the_page_or_hides(porter):
    evil = '{"hidden_size": 1, "model_type": "</script><script>alert(1)</script>", "a\\u202eb": "`x`", "architectures": ["\\u202e"]}'
    written(
        porter.folder,
        {"evil.json": evil, "plain.json": '{"hidden_size": 2, "model_type": "x", "architectures": ["L"]}'},
    )
    answer = porter("checklist", "evil.json", "plain.json", "-o", "page.html")
    text = (porter.folder / "page.html").read_text("utf-8")
    assert answer.code == 1 and "\u202e" not in answer.text + text and "<script>alert" not in text


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("bad.json", '{"a": 1,\n "b": }\n', "bad.json:2: not JSON"),
        ("bad.yaml", "a: 1\nb: [1, 2\nc: 3\n", "bad.yaml:3: not YAML"),
        ("empty.json", "{}", "sets nothing that can be compared"),
        ("words.txt", "nothing here\n", "sets nothing that can be compared"),
        ("args.bin", "x", "print it as JSON"),
        ("no.sh", "echo hello\n", "sets nothing that can be compared"),
        ("nul.sh", "a\0b", "binary content"),
        ("deep.json", '{"a":' * 300 + "1" + "}" * 300, "deep.json:1: not JSON"),
    ],
)
def test_bad_input_is_one_line_with_a_cure(porter, name, content, said):
    (porter.folder / name).write_text(content, "utf-8")
    for language in ("en", "zh"):
        answer = porter("checklist", name, "gpu.sh", "--lang", language)
        assert (
            (answer.code, answer.text) == (2, "") and answer.err.startswith("porter: ") and answer.err.count("\n") == 1
        )
        assert name in answer.err and (language == "zh" or said in answer.err)


def test_what_is_missing_or_too_much(porter):
    assert "no such file" in porter("checklist", "nowhere.sh", "gpu.sh").err
    assert "launch scripts lie here (gpu.sh, npu.sh, other.sh" in porter("checklist", ".", "gpu.sh").err
    (porter.folder / "none").mkdir()
    assert "no launch script or configuration lies here" in porter("checklist", "none", "gpu.sh").err
    assert "did you mean" in porter("checklist", "gpu.sh", "npu.sh", "--format", "htm").err
    assert "the suffix chooses" in porter("checklist", "gpu.sh", "npu.sh", "-o", "x.pdf").err


def test_several_files_and_what_they_mention(porter):
    written(
        porter.folder,
        {
            "r/conf/a.yaml": FACTORY_GPU,
            "r/ds/zero3.json": ZERO3,
            "extra.json": '{"lora_dropout": 0.5, "stage": "sft", "template": "x"}',
        },
    )
    found = json.loads(porter("checklist", "r/conf/a.yaml,extra.json", "r/conf/a.yaml", "--format", "json").text)
    names = [[file["name"] for file in half["files"]] for half in found["sides"]]
    assert names == [["r/conf/a.yaml", "extra.json", "r/ds/zero3.json"], ["r/conf/a.yaml", "r/ds/zero3.json"]]
    assert {"lora-dropout", "template"} <= {row["item"] for row in found["rows"] if row["matters"]}


def test_two_sides_without_an_item_in_common(porter):
    written(porter.folder, {"a.json": '{"x": 1}', "b.json": '{"y": 1}'})
    answer = porter("checklist", "a.json", "b.json")
    assert answer.code == 0 and "nothing was compared" in answer.text


def test_reading_writes_nothing(porter):
    before = {path: path.read_bytes() for path in porter.folder.rglob("*") if path.is_file()}
    porter("checklist", "gpu.sh", "npu.sh", "--format", "html")
    assert before == {path: path.read_bytes() for path in porter.folder.rglob("*") if path.is_file()}


_PARTS = st.sampled_from(
    [
        "--lr 1",
        "--bf16",
        "{",
        "}",
        '"a":',
        "- x",
        "key: ",
        "$(",
        "`",
        "if [",
        "fi",
        "Namespace(",
        ")",
        "lr=1,",
        "'",
        '"',
        "\n",
        " ",
        "  lr .... 1",
        "((",
        "EOF",
        "<<",
        "Config {\n",
    ]
)


@settings(max_examples=examples(150))
@given(st.lists(_PARTS, max_size=25).map("".join), st.sampled_from(["x.sh", "x.yaml", "x.json", "x.log", "x"]))
def test_whatever_a_file_holds_it_is_read_or_refused(tmp_path_factory, text, name):
    path = tmp_path_factory.mktemp("drawn") / name
    path.write_text(text, "utf-8")
    try:
        half = side("x", read_side(str(path)))
    except (UserError, FilesError):
        return
    document(compare(half, half), "en")
    assert compare(half, half).culprits == []
