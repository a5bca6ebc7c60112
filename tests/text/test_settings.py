"""Settings and requirement files: what is read is what a parser reads, and nothing but the spans of edits changes."""

from __future__ import annotations

import configparser
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
import tomli
import yaml
from hypothesis import given
from hypothesis import strategies as st

from porter.analysis.analyse import analyse
from porter.analysis.session import open_session
from porter.engine.facts import Accelerators, Facts, Lists, OwnCode, Roads
from porter.engine.session import Session
from porter.files.kinds import kind_of
from porter.finding import FileResult, apply
from porter.project.pins import choose, installed
from porter.rulebook.table import load
from porter.rulebook.texts import Texts
from porter.run.config import Settings
from porter.run.gather import gather
from porter.run.run import run
from porter.target import Target
from porter.text import first_versions
from porter.text.document import Document
from porter.text.formats import ini, toml
from porter.text.formats import json as json_text
from porter.text.formats import yaml as yaml_text
from porter.text.gate import concerns
from porter.text.packages import _rows

HERE = open_session()


def found(name: str, text: str | bytes, session: Session = HERE) -> FileResult:
    return analyse(name, text.encode() if isinstance(text, str) else text, session)


def codes(name: str, text: str, session: Session = HERE) -> list[str]:
    return [f"{f.code} {f.status}" for f in found(name, text, session).findings]


def ported(name: str, text: str, session: Session = HERE, unsafe: bool = False) -> str:
    result = found(name, text, session)
    assert not [f for f in result.findings if f.code in ("PRT002", "PRT003")], result.findings
    return apply(text.encode(), result.review if unsafe else result.auto).decode()


@pytest.mark.parametrize(
    ("after", "alike"),
    [
        ('{"a": "npu", "b": 1}', True),
        ('{"a": "npu", "b": 2}', False),
        ('{"a": "npu"}', False),
        ('{"a": {"x": "npu"}, "b": 1}', False),
        ('{"a": 3, "b": 1}', False),
    ],
    ids=["what was edited", "another value", "one is gone", "one went down", "no string any more"],
)
def test_nothing_but_what_was_edited_may_differ(after, alike):
    before, then = (json_text.read(Document("a.json", text.encode(), "", HERE, "#")) for text in (COUNTED, after))
    before.edited.add(0)
    assert json_text.same(before, then) is alike


COUNTED = '{"a": "cuda", "b": 1}'


def entries(module, name: str, text: str) -> list[tuple[tuple[str, ...], str]]:
    document = Document(name, text.encode(), "", HERE, "#")
    read = module.read(document)
    for entry in read.entries:
        assert entry.exact or "\\" in text or "\n" in entry.value or entry.value == "", (entry, text)
    return [(entry.path, entry.value) for entry in read.entries]


# ---- readers: the same values as the parsers of those formats

WORDS = st.sampled_from(
    ["cuda", "cuda:0", "nccl", "a b", "x", "é中", "3", "true", "it's", 'say "x"', "", "# no", "a: b", "[x]"]
)
KEYS = st.sampled_from(["device", "backend", "name", "a-b", "c", "engine", "NCCL_DEBUG", "k é"])
TREES = st.recursive(
    WORDS | st.integers(-5, 5) | st.booleans() | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)
MAPPINGS = st.dictionaries(KEYS, TREES, min_size=1, max_size=4)


def leaves(tree, path=()):
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield from leaves(value, (*path, key))
    elif isinstance(tree, list):
        for item in tree:
            yield from leaves(item, (*path, "*"))
    else:
        yield path, tree


def plain(value) -> str:
    return value if isinstance(value, str) else json.dumps(value)


@given(MAPPINGS, st.booleans(), st.sampled_from([None, False, True]))
def test_yaml_is_read_as_its_parser_reads_it(tree, unicode, flow):
    text = yaml.safe_dump(tree, allow_unicode=unicode, default_flow_style=flow, sort_keys=False, width=10_000)
    read = entries(yaml_text, "a.yaml", text)
    assert read == [(path, plain(value)) for path, value in leaves(tree)]


@given(MAPPINGS, st.sampled_from([None, 0, 2]), st.booleans())
def test_json_is_read_as_its_parser_reads_it(tree, indent, ascii):
    read = entries(json_text, "a.json", json.dumps(tree, indent=indent, ensure_ascii=ascii))
    assert read == [(path, plain(value)) for path, value in leaves(tree)]


TOML = """
# device = "cuda"
a = "cuda" # x
'b c' = 'it\\s'
d.e."f.g" = [1, 2.5, "cuda", [true, {h = "x", i = {j = 'y'}}], # inside
  "z",
]
k = 2024-05-01 10:00:00Z
l = \"\"\"
one "two" ""\"\"\"
m = '''x'y'''
n = "a\\tb\\"c"
o = -inf
[t]
p = 0x1f
[[u.v]]
q = "cuda:0"
[[u.v]]
q = {}
"""


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_toml_is_read_as_its_parser_reads_it(newline):
    text = TOML.replace("\n", newline)
    read = dict(entries(toml, "a.toml", text))
    tree = tomli.loads(TOML)
    assert read.keys() == {path for path, _ in leaves(tree)}
    for path, value in leaves(tree):
        if isinstance(value, str) and path[-1] not in ("*", "q"):
            assert read[path] == value, path
    assert (read[("u", "v", "*", "q")], read[("t", "p")], read[("k",)]) == ("cuda:0", "0x1f", "2024-05-01 10:00:00Z")


def test_ini_is_read_as_its_parser_reads_it():
    text = "[a]\nx = 1\ny: cuda ; no\n; c\nlong =\n    one\n    # no\n    two\n\n[b]\nkey = a=b\nempty =\n"
    read = entries(ini, "a.ini", text)
    parser = configparser.RawConfigParser(inline_comment_prefixes=(";", "#"))
    parser.read_string(text)
    assert [(path, v) for path, v in read if "*" not in path] == [
        ((s, key), parser[s][key]) for s in parser.sections() for key in parser[s] if key not in ("long", "empty")
    ]
    assert [v for path, v in read if path[:2] == ("a", "long")] == parser["a"]["long"].split()


# ---- edits: nothing else moves


@pytest.mark.slow
@given(MAPPINGS, st.sampled_from(["yaml", "json"]), st.booleans(), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_a_parser_sees_the_same_but_for_the_edits(tree, form, unsafe, newline, bom):
    text = yaml.safe_dump(tree, allow_unicode=True) if form == "yaml" else json.dumps(tree, indent=1)
    data = (b"\xef\xbb\xbf" if bom else b"") + text.replace("\n", newline).encode()
    name = f"a.{form}"
    result = found(name, data)
    assert not [f for f in result.findings if f.code in ("PRT002", "PRT003")], result.findings
    after = apply(data, result.review if unsafe else result.auto)
    load = yaml.safe_load if form == "yaml" else json.loads
    old, new = (list(leaves(load(d.decode("utf-8-sig")))) for d in (data, after))
    assert [path for path, _ in old] == [path for path, _ in new]
    for (path, before), (_, now) in zip(old, new):
        assert before == now or now in ("npu", "npu:0", "hccl"), (path, before, now)
        sure = [p for p in path if p != "*"][-1:] in (["device"], ["backend"])
        assert before == now or unsafe or sure, "only what the key decides is automatic"
    again = found(name, after)
    assert not (again.review if unsafe else again.auto)


LINES = st.lists(
    st.sampled_from(
        [
            "torch==1.13.1", "torch==2.0.1+cu118  # c", "torch>=2.0", "torch", "numpy", "# torch==1", "torchvision==0.15.2",
            "--extra-index-url https://download.pytorch.org/whl/cu118", "-r other.txt", "flash-attn ; python_version>'3'",
            "nvidia-cublas-cu12==1", "torch[x]==2.1 \\", "   --hash=sha256:00", "", "./folder", "triton", "é", "-e git+https://x/y#egg=torch",
        ]
    ),
    max_size=8,
)  # fmt: skip


@given(LINES, st.sampled_from(["\n", "\r\n"]), st.booleans(), st.booleans())
def test_requirements_keep_all_other_lines(lines, newline, last, unsafe):
    text = newline.join(lines) + (newline if last else "")
    after = ported("requirements.txt", text, unsafe=unsafe)
    changed = [line for line in after.split(newline) if line and line not in lines]
    assert not changed or unsafe
    assert all(
        line.strip().startswith(("torch", "--extra-index-url https://download.pytorch.org/whl/cpu")) for line in changed
    )
    assert ported("requirements.txt", after, unsafe=unsafe) == after


@pytest.mark.parametrize(
    "path", sorted(Path(__file__).parents[1].glob("fixtures/PRT8[34]*/before.*[!y]")), ids=lambda p: p.parent.name
)
def test_line_ends_and_marks_stay(path):
    data = b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n")
    for changes in ((r := found(path.name, data)).auto, r.review):
        after = apply(data, changes)
        assert after.startswith(b"\xef\xbb\xbf") and after.count(b"\n") == after.count(b"\r\n")
    plain = found(path.name, path.read_bytes())
    assert [(f.line, f.code, f.why, f.status) for f in r.findings] == [
        (f.line, f.code, f.why, f.status) for f in plain.findings
    ]


# ---- what is no setting


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("package-lock.json", '{"device": "cuda"}'),
        ("out/results.json", '{"device": "cuda"}'),
        ("records.json", '[{"device": "cuda"}]'),
        ("lines.json", '{"device": "cuda"}\n{"device": "cuda"}\n'),
        (".pre-commit-config.yaml", "device: cuda\n"),
        ("configs/npu.yaml", "device: cuda\n"),
        ("configs/train_npu/a.yaml", "device: cuda\n"),
        ("requirements/npu.txt", "torch==1.0\n"),
        ("spark.conf", "spark.gpu cuda\n"),
        (
            "evals/step1.json",
            '{"results": {"wsc": {"acc": 0.5}}, "versions": {"wsc": 0}, "config": {"device": "cuda:0"}}',
        ),
        ("empty.json", "  "),
    ],
)
def test_data_and_files_for_npus_are_left_alone(name, text):
    assert codes(name, text) == []


def test_settings_beside_results_of_another_kind_are_read():
    assert codes("a.json", '{"results": "out", "device": "cuda"}') == ["PRT830 auto"]
    assert codes("a.json", '{"results": {"folder": "out"}, "config": {"device": "cuda"}}') == ["PRT830 auto"]
    assert codes("a.yaml", "results: out\nconfig: {device: cuda}\n") == ["PRT830 auto"]


def test_a_list_of_many_thousand_values_is_data():
    assert codes("a.yaml", "device: cuda\n" + "".join(f"k{n}: 1\n" for n in range(6000))) == []


def test_other_libraries_have_devices_of_their_own():
    assert codes("a.yaml", "xgboost:\n  device: cuda\n") == []
    assert codes("a.yaml", "m:\n  _target_: faster_whisper.WhisperModel\n  device: cuda\n") == []


def test_the_file_beside_it_is_for_npus():
    session = open_session(facts=Facts(accelerators=Accelerators(npu_twins=("cuda.yaml",))))
    assert codes("cuda.yaml", "device: cuda\n", session) == []


def test_in_a_project_for_both_nothing_is_certain():
    session = open_session(facts=Facts(accelerators=Accelerators(npu_folders=("",))))
    assert codes("a.yaml", "device: cuda\n", session) == ["PRT830 review"]


def test_the_portable_style_writes_no_device_into_settings():
    session = open_session(target=Target(style="portable"))
    assert codes("a.yaml", "device: cuda\nruntime: nvidia\n", session) == ["PRT830 manual", "PRT832 manual"]


def test_a_pipeline_is_one_note():
    text = "jobs:\n a:\n  runs-on: [self-hosted, gpu]\n  env: {CUDA_VISIBLE_DEVICES: 0}\n  container:\n   image: nvidia/cuda:12\n"
    (one,) = found(".github/workflows/ci.yml", text).findings
    assert (one.code, one.why, one.severity, one.status) == ("PRT832", "pipeline", "note", "manual")


# ---- bad input


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("a.yaml", "device: cuda\n\tx: 1\n", 2),
        ("a.yaml", "a: [cuda\nb: }\n", 2),
        ("chart/a.yaml", "device: cuda\nx:\n{{- if .Values.gpu }}\n  y: 1\n{{- end }}\n", 4),
        ("a.json", '{"device": "cuda",\n "x": }', 2),
        ("a.json", "{'device': 'cuda'}", 1),
        ("a.toml", 'device = "cuda"\nx = \n', 2),
        ("a.ini", "[a]\ndevice = cuda\n= broken\n", 3),
        ("a.yaml", b"device: cuda\nx: \xff\n", 2),
        ("requirements.txt", b"torch==1.0\nx\xff\n", 2),
        ("a.json", '{"a":' * 5000 + '"cuda"' + "}" * 5000, 1),
    ],
)
def test_what_does_not_parse_is_one_finding(name, text, line):
    result = found(name, text)
    (one,) = result.findings
    assert (one.code, one.line, one.status) == ("PRT002", line, "manual")
    assert not result.auto and not result.review


@pytest.mark.parametrize(
    "text",
    [
        "a: &x cuda\nb: *x\ndevice: *x\n",
        "device: !!str cuda\n",
        "device: !ref <gpu>\nx: !new:torch.nn.Linear {in: 1}\n",
        "device: cuda\ndevice: cpu\n",
        "? [device, x]\n: cuda\n",
        "- device: cuda\n--- \n- 1\n...\n",
        "device: |\n  cuda\nx: >-\n  cuda\n  nccl\n",
        'device: "cu\\\nda"\n',
        "%YAML 1.1\n---\ndevice: cuda\n",
        "x: !!python/object/apply:os.system ['cuda']\n",
        "",
        "cuda",
        "- cuda\n",
    ],
)
def test_odd_yaml_is_read(text):
    after = ported("a.yaml", text, unsafe=True)
    assert len(list(yaml.parse(after))) == len(list(yaml.parse(text)))


def test_both_parsers_of_yaml_give_the_same(monkeypatch):
    text = (Path(__file__).parents[1] / "fixtures/PRT830_settings/before.yaml").read_text(
        encoding="utf-8"
    ) + "é: '中'\ndevice: cuda\n"
    fast = found("a.yaml", text)
    monkeypatch.delattr(yaml, "CSafeLoader", raising=False)
    assert found("a.yaml", text) == fast


@pytest.mark.slow
def test_what_is_said_of_a_large_and_of_a_binary_file(tmp_path):
    (tmp_path / "large.yaml").write_bytes(b"device: cuda\n" + b"# x\n" * 600_000)
    (tmp_path / "binary.json").write_bytes(b'{"device": "cuda"\0}')
    (tmp_path / "vocabulary.json").write_bytes(b'{"cuda": 0' + b', "x": 1' * 200_000 + b"}")  # data: not a word of it
    (tmp_path / "a.py").write_text("import torch\n")
    env = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2]), "PYTHONUTF8": "1"}
    command = [sys.executable, "-m", "porter", "analyze", ".", "--format", "json", "--no-cache"]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, encoding="utf-8")
    notes = {f["path"]: (f["code"], f["severity"]) for f in json.loads(done.stdout)["findings"]}
    assert notes == {"large.yaml": ("PRT003", "note"), "binary.json": ("PRT003", "wrong")}, "this one names a device"


_NAMES = (
    "a.yaml a.json a.toml a.ini a.sh a.ipynb a.cu a.cpp requirements.txt Makefile Dockerfile pyproject.toml setup.cfg environment.yml"
).split()


@pytest.mark.slow
@pytest.mark.parametrize("what", ["binary", "of 50 MB", "empty", "of one line without end"])
def test_a_file_that_only_has_the_name_of_one(tmp_path, what):
    """Of every kind: one note at most, nothing is written, and it takes no time."""
    for name in _NAMES:
        with open(tmp_path / name, "wb") as file:
            if what == "binary":
                file.write(b"\x7fELF\0\1\2\xff cuda nccl torch \0")
            elif what == "of 50 MB":
                file.write(b"# cuda nccl torch\n")
                file.truncate(50_000_000)
            elif what != "empty":
                file.write(b"cuda " * 20_000)
    session = open_session()
    before = {path.name: path.stat().st_size for path in tmp_path.iterdir()}
    began = time.process_time()
    result = run(tmp_path, [str(tmp_path)], Settings(jobs=1), session)
    assert time.process_time() - began < 10
    for file in result.files:
        assert not file.auto and not file.review, file.path
        assert len(file.findings) <= 1 and {f.severity for f in file.findings} <= {"note"}, file.findings
        assert {f.code for f in file.findings} <= {"PRT002", "PRT003", "PRT842"}
    assert before == {path.name: path.stat().st_size for path in tmp_path.iterdir()}
    if what in ("binary", "of 50 MB"):
        quiet = {"a.json"}  # everybody knows that such a file is data
        assert {file.path for file in result.files if file.findings} == set(_NAMES) - quiet


@pytest.mark.parametrize(("text", "told"), [('{"the": 1, "cuda": 2}', False), ('{"device": "cuda"}', True)])
def test_json_in_utf_16_is_told_where_it_begins_like_settings(tmp_path, text, told):
    (tmp_path / "vocabulary.json").write_bytes(text.encode("utf-16"))
    found = [file for file in run(tmp_path, [str(tmp_path)], Settings(jobs=1), open_session()).files if file.findings]
    assert bool(found) is told


# ---- requirements wherever they stand


def test_pyproject_and_its_kin():
    text = '[project]\ndependencies = [\n    "torch==2.1.0",  # x\n    "numpy",\n]\n[tool.poetry.dependencies]\ntorchvision = {version = "0.16.0"}\n'
    assert ported("pyproject.toml", text, unsafe=True) == text.replace(
        '"torch==2.1.0",', '"torch==2.7.1",\n    "torch-npu==2.7.1.post11",'
    ).replace("0.16.0", "0.22.1")
    text = '[tool.poetry.dependencies]\npython = "^3.10"\ntorch = "2.1.0"\n'
    assert ported("pyproject.toml", text, unsafe=True).endswith('torch = "2.7.1"\ntorch-npu = "2.7.1.post11"\n')
    keywords = '[project]\nkeywords = ["torch-npu"]\ndependencies = ["torch==2.1.0"]\n'
    added = keywords.replace('2.1.0"', '2.7.1", "torch-npu==2.7.1.post11"')
    assert ported("pyproject.toml", keywords, unsafe=True) == added  # a keyword of that name is no requirement
    text = '[packages]\ntorch = "==2.1.0"\n'
    assert ported("Pipfile", text, unsafe=True).endswith('torch = "==2.7.1"\ntorch-npu = "==2.7.1.post11"\n')
    text = "[options]\ninstall_requires =\n    torch==2.1.0\n    numpy\n"
    assert ported("setup.cfg", text, unsafe=True) == text.replace("2.1.0", "2.7.1\n    torch-npu==2.7.1.post11")
    text = "dependencies:\n  - python=3.10\n  - cudatoolkit=11.8\n  - pip:\n      - 'torch==2.1.0'\n      - numpy\n"
    assert ported("environment.yml", text, unsafe=True) == text.replace(
        "'torch==2.1.0'", "'torch==2.7.1'\n      - 'torch-npu==2.7.1.post11'"
    )
    labelled = "dependencies:\n  - nvidia/label/cuda-11.7.1::cuda-toolkit = 11.7\n"
    assert [(f.code, dict(f.values)["name"]) for f in found("environment.yml", labelled).findings] == [
        ("PRT842", "cuda-toolkit")
    ]
    assert codes("environment.yml", "dependencies:\n - pytorch=1.9\n - pytorch-cuda=11.7\n") == [
        "PRT840 manual", "PRT840 manual", "PRT842 manual",
    ]  # fmt: skip


LOOSE = {
    "requirements.txt": ("torch>=2.0\nnumpy\n", "torch>=2.0\ntorch-npu==2.7.1.post11\nnumpy\n"),
    "pyproject.toml": (
        '[project.optional-dependencies]\ntrain = ["torch", "numpy"]\n',
        '[project.optional-dependencies]\ntrain = ["torch", "torch-npu==2.7.1.post11", "numpy"]\n',
    ),
    "Pipfile": ('[packages]\ntorch = "*"\n', '[packages]\ntorch = "*"\ntorch-npu = "==2.7.1.post11"\n'),
    "setup.cfg": (
        "[options.extras_require]\ntrain =\n    torch\n    numpy\n",
        "[options.extras_require]\ntrain =\n    torch\n    torch-npu==2.7.1.post11\n    numpy\n",
    ),
    "environment.yml": (
        "dependencies:\n  - pip\n  - pip:\n      - torch\n      - tqdm\n",
        "dependencies:\n  - pip\n  - pip:\n      - torch\n      - torch-npu==2.7.1.post11\n      - tqdm\n",
    ),
}


@pytest.mark.parametrize("name", LOOSE)
def test_beside_a_torch_without_a_pin_stands_the_plug_in_too(name):
    """The ported program imports it, and it asks for its own torch."""
    before, after = LOOSE[name]
    (one,) = found(name, before).findings
    assert (one.code, one.why, one.severity, one.status) == ("PRT840", "loose", "note", "review") and not one.optional
    assert ported(name, before) == before and ported(name, before, unsafe=True) == after
    assert codes(name, after) == [] and ported(name, after, unsafe=True) == after
    older = ["PRT840 manual"] if ">=2.0" in before else []  # has no torch.accelerator
    assert codes(name, before, open_session(target=Target(style="portable"))) == older


EXTRA = {
    "pyproject.toml": (
        '[project]\ndependencies = ["torch", "numpy"]\n\n[project.optional-dependencies]  # for some\ndev = ["pytest"]\n',
        '[project]\ndependencies = ["torch", "numpy"]\n\n[project.optional-dependencies]  # for some\n'
        'npu = ["torch-npu==2.7.1.post11"]\ndev = ["pytest"]\n',
    ),
    "a/pyproject.toml": (
        '[project]\ndependencies = ["torch"]\n',
        '[project]\ndependencies = ["torch"]\n\n[project.optional-dependencies]\nnpu = ["torch-npu==2.7.1.post11"]\n',
    ),
    "setup.cfg": (
        "[options]\ninstall_requires =\n    torch\n[options.extras_require]\nold =\n    x\n",
        "[options]\ninstall_requires =\n    torch\n[options.extras_require]\n"
        "npu =\n    torch-npu==2.7.1.post11\nold =\n    x\n",
    ),
    "a/setup.cfg": (
        "[options]\ninstall_requires =\n    torch>=2\n",
        "[options]\ninstall_requires =\n    torch>=2\n\n[options.extras_require]\nnpu =\n    torch-npu==2.7.1.post11\n",
    ),
}


@pytest.mark.parametrize("name", EXTRA)
def test_what_every_user_of_a_package_has_is_no_place_for_the_plug_in(name):
    before, after = EXTRA[name]
    (one,) = found(name, before).findings
    assert (one.code, one.why, one.severity, one.status) == ("PRT840", "extra", "note", "review")
    assert ported(name, before) == before and ported(name, before, unsafe=True) == after
    assert codes(name, after) == []


def test_a_torch_that_a_package_pins_has_the_plug_in_beside_it():
    """It is a program, or its users have this one torch anyway."""
    text = '[project]\ndependencies = ["torch==2.7.1"]\n'
    assert 'dependencies = ["torch==2.7.1", "torch-npu==2.7.1.post11"]' in ported("pyproject.toml", text, unsafe=True)


@pytest.mark.parametrize("torch", ["torch", "torch>=2.5.1", "torch==2.7.1"])
def test_what_only_builds_a_package_needs_no_plug_in(torch):
    """Its environment has no NPU, and is gone when the package runs."""
    text = f'[build-system]\nrequires = [\n    "setuptools",\n    "{torch}",\n    "torchvision",\n]\n'
    assert codes("pyproject.toml", text) == [] and ported("pyproject.toml", text, unsafe=True) == text
    pinned = text.replace(f'"{torch}"', '"torch==2.1.0"')
    assert ported("pyproject.toml", pinned, unsafe=True) == pinned.replace("2.1.0", "2.7.1"), "but its version counts"
    setup = 'from setuptools import setup\n\nsetup(setup_requires=["{0}"]{1})\n'
    assert codes("setup.py", setup.format(torch, "")) == []
    assert len(codes("setup.py", setup.format(torch, ', install_requires=["torch"]'))) == 1
    named = f'from setuptools import setup\n\nNEEDS = ["{torch}"]\nsetup(setup_requires=NEEDS)\n'
    assert codes("setup.py", named) == [] != codes("setup.py", named.replace("setup_requires", "install_requires"))


@pytest.mark.parametrize("built", ["torch", "torchvision"])
@pytest.mark.parametrize("wanted", ["torch", "torchvision"])
def test_what_a_package_runs_with_has_the_plug_in_whatever_builds_it(built, wanted):
    text = f'[build-system]\nrequires = ["{built}"]\n\n[dependency-groups]\nrun = ["{wanted}"]\n'
    ending = f'run = ["{wanted}", "torch-npu==2.7.1.post11"]\n'
    assert ported("pyproject.toml", text, unsafe=True) == text.partition("run")[0] + ending


def test_optional_lists_that_are_given_elsewhere_are_told_of_alone():
    text = '[project]\ndynamic = ["optional-dependencies"]\ndependencies = ["torch"]\n'
    assert codes("pyproject.toml", text) == ["PRT840 manual"] and ported("pyproject.toml", text, unsafe=True) == text


def test_a_command_loses_its_builds_with_their_index():
    index = "https://download.pytorch.org/whl/"
    text = f"""[tool.hatch.envs.ci.scripts]
test = [
    "pip install torch==2.7.1+cu118 torchvision==0.22.1+cu118 --index-url {index}cu118",
    "pip install torch==2.7.1 --index-url {index}cu118",
    "pip install mine==2.0.1+cu118",
]
"""
    plain = text.replace(f"{index}cu118", f"{index}cpu").replace("2.7.1+cu118", "2.7.1").replace("22.1+cu118", "22.1")
    assert codes("pyproject.toml", text) == ["PRT841 review"] * 2
    assert ported("pyproject.toml", text, unsafe=True) == plain


@pytest.mark.parametrize(
    "line",
    [
        "torchaudio>=0.8,<2.1", "torchvision<0.20", "tensorflow==2.4.0", "tensorflow-gpu==1.15",
        "numpy==1.16.2", "pandas<1.0", "scipy~=1.3.0", "scikit_learn==0.20.3",
    ],
)  # fmt: skip
def test_beside_what_leaves_out_the_torch_of_the_target_nothing_is_written(line):
    text = f"torch==2.3.0\n{line}\n"
    found_here = found("requirements.txt", text)
    assert not found_here.review and {f.status for f in found_here.findings} == {"manual"}
    assert not {"companion-range", "last-python"}.isdisjoint(f.why for f in found_here.findings)
    assert "torch-npu" not in ported("requirements.txt", text, unsafe=True)


@pytest.mark.parametrize(
    "line",
    [
        "torchaudio>=0.8", "torchvision!=0.20", "tensorflow>=2.4", "tensorflow==2.18.0", "numpy>=1.16,<2", "numpy==1.19.5",
        "pandas", "numpy==1.16.2 ; python_version < '3.8'",
    ],
)  # fmt: skip
def test_beside_what_leaves_room_for_it_it_is(line):
    assert "torch==2.7.1\ntorch-npu==2.7.1.post11\n" in ported(
        "requirements.txt", f"torch==2.3.0\n{line}\n", unsafe=True
    )


def test_an_environment_of_an_older_python():
    text = "dependencies:\n  - python={}\n  - pip:\n    - torch==2.3.0\n"
    assert [f.why for f in found("environment.yml", text.format("3.7.4")).findings] == ["python", "missing", "pin"]
    assert not found("environment.yml", text.format("3.8")).review
    assert found("environment.yml", text.format("3.10")).review
    assert codes("environment.yml", "dependencies:\n  - python=3.7\n  - numpy\n") == []
    frozen = (
        "dependencies:\n  - python=3.6.8=h0371630_0\n  - numpy=1.16.2=py36h7e9f1db_0\n  - pytorch=1.0.1=py3.6_cuda9.0\n"
    )
    messages = {f.why: dict(f.values).get("old") for f in found("environment.yml", frozen).findings}
    assert messages == {"python": "=3.6.8", "conda": None, "pin": "=1.0.1"}


@pytest.mark.parametrize("python,says", [("3.8", False), ("3.9", True)])
def test_numpy_2_does_not_come_to_an_older_python(tmp_path, python, says):
    text = f"dependencies:\n  - python={python}\n  - pip:\n    - torch==1.12.1\n    - numpy\n"
    (tmp_path / "environment.yml").write_text(text)
    facts = gather(tmp_path, ["environment.yml"])
    about = open_session(facts=facts, target=Target(torch_npu="2.1.0.post17"))
    assert ("numpy" in [f.why for f in found("environment.yml", text, about).findings]) is says


WINDOWS = "dependencies:\n  - python=3.9.18\n  - {}\n  - pip:\n    - torch==2.0.1\n    - {}\nprefix: C:\\envs\\x\n"


@pytest.mark.parametrize("item", ["vc=14.3=h64f974e_17", "vs2015_runtime", "defaults::m2w64-gmp=6.1.0"])
def test_an_environment_that_was_frozen_on_windows_is_told_once_and_left_alone(item, tmp_path):
    text = WINDOWS.format(item, "tqdm")
    (one,) = found("environment.yaml", text).findings
    assert (one.why, one.severity, one.status) == ("windows", "note", "manual")
    (tmp_path / "environment.yaml").write_text(text)
    assert choose(tmp_path, "2.7.1.post11") == ("2.7.1.post11", "default")


@pytest.mark.parametrize("items", [("vcpython", "tqdm"), ("tqdm", "pywin32==306"), ("pip", "ucrt==1.0")])
def test_one_with_a_folder_of_windows_alone_is_read_as_any_other(items, tmp_path):
    text = WINDOWS.format(*items)
    assert "pin" in [f.why for f in found("environment.yaml", text).findings]
    (tmp_path / "environment.yaml").write_text(text)
    assert choose(tmp_path, "2.7.1.post11")[1] == "environment.yaml:5"


@pytest.mark.parametrize(
    "marker", ["platform_system == 'Darwin'", "sys_platform == 'win32' and python_version < '3.9'"]
)
def test_what_no_machine_with_linux_has_is_left_alone(marker):
    assert codes("requirements.txt", f"torch<2.3 ; {marker}\n") == []


@pytest.mark.parametrize(
    "marker", ["platform_system != 'Darwin'", "platform_machine == 'aarch64'", "python_version < '3.9'"]
)
def test_what_some_have_is_not(marker):
    assert codes("requirements.txt", f"torch<2.3 ; {marker}\n") == ["PRT840 manual"]


def test_the_image_that_cog_builds_is_told_and_its_torch_chooses_where_nothing_else_does(tmp_path):
    text = 'build:\n  gpu: {}\n  cuda: "11.1"\n  python_packages:\n    - "torch==2.1.0"\npredict: "p.py:P"\n'
    (one,) = found("cog.yaml", text.format("true")).findings
    assert (one.code, one.line, one.status, one.severity) == ("PRT832", 2, "manual", "note"), "a demo alone"
    (one,) = found("cog.yaml", text.format("true") + 'train: "train.py:train"\n').findings
    assert one.severity == "blocker"
    assert codes("cog.yaml", text.format("false")) == codes("other.yaml", text.format("true")) == []
    (tmp_path / "cog.yaml").write_text(text)
    assert choose(tmp_path, "2.7.1.post11")[1] == "cog.yaml:5"
    (tmp_path / "environment.yml").write_text(WINDOWS.format("vs2015_runtime", "tqdm"))  # which is no list for Linux
    assert choose(tmp_path, "2.7.1.post11")[1] == "cog.yaml:5"
    for other in ("torch>=2.0\n", "numpy\n"):
        (tmp_path / "requirements.txt").write_text(other)
        assert choose(tmp_path, "2.7.1.post11") == ("2.7.1.post11", "default")


def choose_for_gpus(root):
    return choose(root, "2.7.1.post11", installed(root, "2.7.1.post11"))


INSTALLING = {
    "Dockerfile": "FROM x\nRUN apt-get update \\\n && true\nRUN pip3 install \\\n  torch==1.1.0 numpy\n",
    "train.Dockerfile": "FROM pytorch/pytorch:1.8.0-cuda11.1-cudnn8-devel\n",
    "Dockerfile.gpu": 'ARG PYTORCH="1.6.0"\nFROM pytorch/pytorch:${PYTORCH}-cuda10.1-cudnn7-devel\n',
    "dockerfile": "FROM x\nRUN pip install https://download.pytorch.org/whl/cu100/torch-1.1.0-cp36-cp36m-linux_x86_64.whl\n",
    "install.sh": "conda install -y pytorch=1.7 torchvision cudatoolkit=10.2 -c pytorch\n",
    "README.md": "# Setup\n```\n$ pip install torch==1.7.1+cu110 -f https://download.pytorch.org/whl/torch_stable.html\n```\n",
    "Readme.md": "\n\n> pip install torch torchvision --index-url https://download.pytorch.org/whl/cu117\n",
}


@pytest.mark.parametrize("name", INSTALLING)
def test_a_port_for_gpus_is_written_for_the_torch_that_is_installed_there(name, tmp_path):
    (tmp_path / "requirements.txt").write_text("numpy\n")
    (tmp_path / name).write_text(INSTALLING[name])
    version, place = choose_for_gpus(tmp_path)
    line = {"Dockerfile": 4, "dockerfile": 2, "README.md": 3, "Readme.md": 3}.get(name, 1)
    assert (version.startswith("2.1.0"), place) == (True, f"{name}:{line}")
    assert choose(tmp_path, "2.7.1.post11") == ("2.7.1.post11", "default"), "other styles run with torch_npu"
    (tmp_path / "requirements.txt").write_text("torch>=1.7\n")
    assert choose_for_gpus(tmp_path)[1] == "default", "a list says it"


@pytest.mark.parametrize(
    "text",
    [
        "pip install torch", "pip install torch==2.8.0", "pip install torch>=1.7", "tested with torch==1.7.1",
        "# pip install torch==1.7.1", "pip install pytorch-lightning==1.2.0 torchvision==0.8.0",
        "pip install torch-npu==2.1.0", "docker pull pytorch/pytorch:latest",
        "pip install torch --extra-index-url https://download.pytorch.org/whl/cu117",  # PyPI has a newer one
        "pip install torch --index-url https://download.pytorch.org/whl/cu128",
        "pip install torch-scatter --index-url https://download.pytorch.org/whl/cu117",
        "pip install torchvision --index-url https://download.pytorch.org/whl/cu117", "conda install pytorch",
        "conda install faiss-gpu -c pytorch", "conda install --channel pytorch faiss-gpu",
    ],
)  # fmt: skip
def test_what_installs_no_older_torch_chooses_nothing(text, tmp_path):
    (tmp_path / "README.md").write_text(f"{text}\n")
    (tmp_path / "notes.txt").write_text("pip install torch==1.7.1\n")
    assert choose_for_gpus(tmp_path) == ("2.7.1.post11", "default")


@pytest.mark.parametrize(
    "text",
    [
        "pip install torch torchvision --index-url https://download.pytorch.org/whl/cu121",
        "pip3 install -i https://download.pytorch.org/whl/cu121 torch",
        "conda install pytorch torchvision torchaudio pytorch-cuda=12.1 -c pytorch -c nvidia",
    ],
)
def test_the_last_torch_of_an_index(text, tmp_path):
    (tmp_path / "README.md").write_text(f"{text}\n")
    assert choose_for_gpus(tmp_path) == ("2.6.0.post5", "README.md:1"), "the next newer torch_npu"
    assert [pin.exact for pin in installed(tmp_path, "2.7.1.post11")] == [(2, 5, 1)]


def test_what_builds_the_documents_needs_no_plug_in():
    assert ported("docs/requirements.txt", "sphinx\ntorch\n", unsafe=True) == "sphinx\ntorch\n"


def test_a_range_without_the_torch_of_the_target_is_for_a_person():
    for spec, why in (("<2.2,>=2.0", "range-known"), ("<1.13,>=1.7", "range")):  # torch_npu is known for torch 2.1.0
        result = found("requirements.txt", f"torch{spec}\n")
        assert [f.why for f in result.findings] == [why] and not result.review
    assert codes("environment.yml", "dependencies:\n  - pytorch\n  - torchvision\n") == ["PRT840 manual"]
    assert codes("pyproject.toml", '[tool.poetry.dependencies]\ntorch = "^2.0.1"\n') == ["PRT840 review"]


def test_hashes_are_not_made_up():
    result = found("requirements.txt", "torch==1.13.1 \\\n    --hash=sha256:00\nnumpy==1\n")
    assert [(f.code, f.status) for f in result.findings] == [("PRT840", "manual")] and not result.review


def test_the_finding_says_who_imports_the_package(tmp_path):
    for name in "abc":
        (tmp_path / f"{name}.py").write_text("import torch\nfrom flash_attn import x\n")
    (tmp_path / "requirements.txt").write_text("flash-attn\nxformers\n")
    facts = gather(tmp_path, ["a.py", "b.py", "c.py", "requirements.txt"])
    assert facts.lists.imported == (("flash_attn", "", "a.py, b.py (+1)"),)
    first, second = found("requirements.txt", "flash-attn\nxformers\n", open_session(facts=facts)).findings
    texts = Texts()
    assert (first.why, second.why) == ("listed", "xformers")
    assert "drop flash-attn here once nothing imports it" in texts.message(first)
    assert texts.details(first).startswith("Imported by: a.py, b.py (+1).")
    assert "imported by" not in texts.message(second)
    assert texts.message(first, "zh").startswith("不再有文件导入 flash-attn 后请将其从此处删除")


def test_what_a_script_installs_has_the_words_of_a_list(tmp_path):
    (tmp_path / "a.py").write_text("import torch\nimport nvdiffrast.torch as dr\nprint(dr.interpolate)\n")
    command = "pip install \\\n    git+https://github.com/NVlabs/nvdiffrast.git xformers\n"
    cell = '"!pip install git+https://github.com/NVlabs/nvdiffrast.git xformers\\n"'
    notebook = f'{{"cells": [{{"cell_type": "code", "source": [{cell}]}}], "nbformat": 4, "nbformat_minor": 5, "metadata": {{}}}}'
    for name, text in {
        "Dockerfile": f"FROM ubuntu:22.04\nRUN {command}",
        "set.sh": command,
        "a.ipynb": notebook,
    }.items():
        (tmp_path / name).write_text(text)
        facts = gather(tmp_path, ["a.py", name])
        assert ("nvdiffrast", "", "a.py") in facts.lists.imported
        whys = [f.why for f in found(name, text, open_session(facts=facts)).findings if f.code == "PRT401"]
        assert whys == ["listed", "xformers"], name


SETUP = 'from setuptools import setup\n\ngpu = ["flash-attn", "torch"]\nsetup(name="a", {})\n'


@pytest.mark.parametrize(
    ("path", "text", "why"),
    [
        ("pyproject.toml", '[project.optional-dependencies]\ngpu = ["flash-attn"]\n', "extra"),
        ("pyproject.toml", '[project]\ndependencies = ["flash-attn"]\n', "listed"),
        ("setup.cfg", "[options.extras_require]\ngpu =\n    flash-attn\n", "extra"),
        ("setup.cfg", "[options]\ninstall_requires =\n    flash-attn\n", "listed"),
        ("setup.py", SETUP.format('extras_require={"gpu": gpu}'), "extra"),
        ("setup.py", SETUP.format('extras_require={"gpu": ["flash-attn"]}'), "extra"),
        ("setup.py", SETUP.format("install_requires=gpu"), "listed"),
        ("setup.py", SETUP.format('install_requires=["flash-attn"]'), "listed"),
    ],
)
def test_what_is_an_optional_extra_already(path, text, why):
    facts = Facts(lists=Lists(imported=(("flash_attn", "", "a.py"),)))
    told = [f for f in found(path, text, open_session(facts=facts)).findings if f.code == "PRT401"]
    assert [(f.why, f.severity) for f in told] == [(why, "note" if why == "extra" else "blocker")]


def test_a_list_is_told_of_the_package_that_it_needs_instead():
    facts = Facts(lists=Lists(imported=(("onnxruntime", "", "a.py"), ("vllm", "", "a.py"), ("triton", "", "a.py"))))
    findings = found("requirements.txt", "onnxruntime-gpu\nvllm\ntriton\n", open_session(facts=facts)).findings
    assert [f.why for f in findings] == ["onnxruntime", "vllm", "default"]
    assert all(Texts().message(f).endswith("; imported by a.py") for f in findings)


def test_who_sets_a_variable_is_told_of_the_file_that_reads_it(tmp_path):
    (tmp_path / "topology.py").write_text(
        'import os\nassert os.environ.get("CUDA_DEVICE_ORDER") == os.environ["NCCL_ALGO"]\nos.environ["NCCL_PROTO"] = "LL"\n'
    )
    facts = gather(tmp_path, ["topology.py"])
    assert facts.variables.read == (("CUDA_DEVICE_ORDER", "topology.py"), ("NCCL_ALGO", "topology.py"))
    session = open_session(facts=facts)
    for path, text in (
        ("job.yaml", "env:\n  CUDA_DEVICE_ORDER: PCI_BUS_ID\n  NCCL_PROTO: LL\n"),
        ("run.sh", "export CUDA_DEVICE_ORDER=PCI_BUS_ID\nexport NCCL_PROTO=LL\n"),
        ("run.py", 'import os\nos.environ["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"\nos.environ["NCCL_PROTO"] = "LL"\n'),
    ):
        first, second = found(path, text, session).findings
        assert Texts().message(first).endswith("; topology.py reads it: keep it if that needs the value"), path
        assert "topology.py" not in Texts().message(second), path
    (asks,) = found("ask.py", 'import os\nx = os.getenv("CUDA_DEVICE_ORDER")\n', session).findings
    assert "topology.py" not in Texts().message(asks)


def test_every_package_passes_the_gate():
    rows = _rows(HERE.rules)
    told = [
        name
        for name in rows
        if codes("requirements.txt", f"{name}\n") or codes("requirements.txt", f"x\n{name}  # torch\n")
    ]
    assert len(told) > 50
    assert [name for name in told if not concerns("requirements", name.encode())] == []


AGED = {
    "requirements.txt": "accelerate=={}\n",
    "pyproject.toml": '[project]\ndependencies = ["accelerate=={}"]\n',
    "a/pyproject.toml": '[tool.poetry.dependencies]\naccelerate = "{}"\n',
    "Pipfile": '[packages]\naccelerate = "=={}"\n',
    "setup.cfg": "[options]\ninstall_requires =\n    accelerate=={}\n",
    "environment.yml": "dependencies:\n  - pip:\n      - 'accelerate=={}'\n",
    "setup.py": 'import torch\nfrom setuptools import setup\nsetup(install_requires=["accelerate=={}"])\n',
    "Dockerfile": "FROM python\nRUN pip install accelerate=={}\n",
}


@pytest.mark.parametrize("name", AGED)
def test_a_version_older_than_its_support_for_npus(name):
    before = AGED[name].format("0.20.3")
    assert codes(name, before) == ["PRT843 review"]
    assert ported(name, before) == before and ported(name, before, unsafe=True) == AGED[name].format("0.21.0")
    assert codes(name, AGED[name].format("0.21.0")) == codes(name, AGED[name].format("0.30")) == []
    assert not (kind := kind_of(name)) or kind == "python" or concerns(kind, before.encode())


def test_an_environment_of_older_versions_is_edited_by_hand():
    text = "dependencies:\n  - accelerate={}\n"
    for version in ("0.20.3", "0.20.3=pyhd8ed1ab_0", "0.20.3=2"):
        assert codes("environment.yml", text.format(version)) == ["PRT843 manual"], version
    for version in ("0.21.0", "0.21.0=pyhd8ed1ab_0", "0.21.0=2"):
        assert codes("environment.yml", text.format(version)) == [], version


def test_a_bound_beside_an_old_version_is_for_a_person():
    assert codes("requirements.txt", "accelerate==0.20.3\naccelerate<0.21\n") == ["PRT843 manual"] * 2
    assert codes("requirements.txt", "accelerate==0.20.3\naccelerate>=0.19\n") == ["PRT843 review"]
    assert codes("requirements.txt", "accelerate==0.20.3 --hash=sha256:00\n") == ["PRT843 manual"]


def test_an_old_version_matters_where_its_part_is_imported():
    def about(path: str) -> Session:
        return open_session(facts=Facts(lists=Lists(imported=(("transformers.Trainer", path, "train.py"),))))

    assert codes("requirements.txt", "transformers==4.31.0\n") == []
    assert codes("requirements.txt", "transformers==4.31.0\n", about("")) == ["PRT843 review"]
    assert codes("requirements.txt", "transformers==4.31.0\n", about("other/")) == []
    own = open_session(facts=Facts(own=OwnCode(packages=("accelerate",))))
    assert codes("requirements.txt", "accelerate==0.20.3\n", own) == []


def test_a_package_with_a_first_version_passes_the_gate():
    told = {name: rows[0][1].since for name, rows in first_versions.packages(HERE.rules).items()}
    assert len(told) > 8
    for name in told:
        assert concerns("requirements", f"{name}==0\n".encode()), name
        assert concerns("yaml", f"dependencies:\n  - {name}==0\n".encode()), name


# ---- the examples of the rules are files whose first line is their name


@pytest.mark.parametrize("code", [c for c in Texts().codes() if c[:5] in ("PRT83", "PRT84", "PRT85")])
def test_the_example_of_a_rule(code):
    rule = Texts().rule(code)
    name, before, after = (rule.before.split("\n")[0].lstrip("#/ "), rule.before, rule.after)
    assert code in {f.code for f in found(name, before).findings}
    assert ported(name, before, unsafe=True) == after
    if rule.by_hand:
        assert found(name, rule.by_hand).findings == ()


def test_a_value_below_what_the_other_library_takes_by_itself_is_not_written():
    text = 'env:\n  NCCL_BUFFSIZE: "8388608"\n  NCCL_IB_TIMEOUT: "22"\n'
    assert codes("a.yaml", text) == ["PRT802 manual", "PRT802 manual"]
    text = 'env:\n  NCCL_BUFFSIZE: "268435456"\n  NCCL_IB_TIMEOUT: "20"\n'
    assert ported("a.yaml", text, unsafe=True) == 'env:\n  HCCL_BUFFSIZE: "256"\n  HCCL_RDMA_TIMEOUT: "20"\n'


def test_a_frozen_list_is_told_of_once():
    parts = "".join(f"nvidia-{name}-cu12==12.1.105\n" for name in ("cublas", "cuda-cupti", "cudnn", "nccl"))
    (one,) = [f for f in found("requirements.txt", f"{parts}torch==2.2.2\n").findings if f.code == "PRT842"]
    assert one.why == "frozen"
    for torch in ("torch==2.7.1", "torch"):
        assert [f.why for f in found("requirements.txt", f"{parts}{torch}\n").findings if f.code == "PRT842"] == [
            "default"
        ]


def test_what_installs_everywhere_and_nobody_imports_is_no_finding():
    text = "fairscale==0.4.13\npynvml==11.5\ngpustat==1.1\ncuda-python==12.3\ntriton==2.2.0\ntorch==2.7.1\n"
    told = [f for f in found("requirements.txt", text).findings[:5]]
    assert [(f.code, f.why) for f in told[:4]] == [("PRT401", w) for w in ("fairscale", "pynvml", "GPUtil", "pycuda")]
    assert told[4].code == "PRT843"
    names = ("fairscale", "pynvml", "py3nvml", "nvidia_smi", "GPUtil", "gpustat", "triton", "pycuda")
    parts = ("bindings", "cuda", "cudart", "nvrtc", "core")
    fairscales = [name for name, row in load().packages.items() if "fairscale" in row.names]
    alone = open_session(
        facts=Facts(lists=Lists(unimported=(*names, *fairscales, *(f"cuda.{part}" for part in parts))))
    )
    assert [f.why for f in found("requirements.txt", text, alone).findings] == ["came", "missing"]
    assert [f.why for f in found("requirements.txt", "pycuda\ntriton\n", alone).findings] == [
        "unimported",
        "unimported",
    ]


def test_what_no_file_imports_is_left_out_unless_libraries_load_it(tmp_path):
    (tmp_path / "a.py").write_text("import torch\nprint(torch.ones(2))\n")
    lists = {
        "requirements.txt": "torch-spline-conv\nxformers\ncuml-cu11\ncupy-cuda12x\nmamba-ssm\n",
        "Dockerfile": "FROM ubuntu:22.04\nRUN pip install torch-spline-conv xformers cuml-cu11 cupy-cuda12x mamba-ssm\n",
    }
    for name, text in lists.items():
        (tmp_path / name).write_text(text)
        facts = gather(tmp_path, ["a.py", name])
        session = open_session(facts=facts)
        told = [f for f in found(name, text, session).findings if f.code == "PRT401"]
        assert [f.why for f in told] == ["unimported", "xformers", *["unimported"] * 3], name
        assert "no file of this project imports it" in Texts().message(told[0])
    (tmp_path / "a.py").write_text(
        "import torch\nfrom cuml.linear_model import LogisticRegression\nprint(LogisticRegression)\n"
    )
    facts = gather(tmp_path, ["a.py", "requirements.txt"])
    told = found("requirements.txt", lists["requirements.txt"], open_session(facts=facts)).findings
    assert [f.why for f in told if f.code == "PRT401"] == ["unimported", "xformers", "listed", *["unimported"] * 2]


def test_a_setting_whose_reader_does_without_the_package():
    text = "model:\n  flash_attention: true\n"
    assert codes("a.yaml", text) == ["PRT405 manual"]
    assert codes("a.yaml", text, open_session(facts=Facts(own=OwnCode(falls_back=("flash_attention",))))) == []


def test_a_folder_that_pip_installs_is_the_package_of_its_name() -> None:
    """submodules/simple-knn is built with nvcc; a folder called torch, or any other, says nothing."""
    lines = ["submodules/simple-knn", "third_party/torch", "submodules/tools/", "plyfile"]
    text = "dependencies:\n  - pytorch=2.7.1\n  - pip:\n" + "".join(f"    - {line}\n" for line in lines)
    result = found("environment.yml", text)
    assert [(f.code, f.line) for f in result.findings] == [("PRT840", 2), ("PRT401", 4)]


def test_a_package_that_only_has_to_be_told_its_device_may_be_installed() -> None:
    assert codes("requirements.txt", "openai-whisper\nopenai-clip\nclean-fid\nresemblyzer\ndescript-audiotools\n") == []


@pytest.mark.parametrize("folder", ["data/pretrained/bert-base", "pretrained_models/bert", "tests/data"])
def test_sizes_of_published_weights_are_nobodys_to_change(folder: str) -> None:
    text = '{"vocab_size": 30522, "hidden_size": 768}'
    assert codes("models/bert/bert_config.json", text) == ["PRT640 review"]
    assert codes(f"{folder}/bert_config.json", text) == []


BOUNDS = {
    "pyproject.toml": '[project]\nrequires-python = "{}"\n',
    "a/pyproject.toml": '[tool.poetry.dependencies]\npython = "{}"\n',
    "setup.cfg": "[options]\npython_requires = {}\n",
    "setup.py": 'from setuptools import setup\n\nsetup(python_requires="{}")\n',
}


@pytest.mark.parametrize("name", BOUNDS)
def test_the_pythons_of_a_package_leave_the_one_of_torch_out(name):
    session = open_session(facts=Facts(roads=Roads(loads=True)))
    for bound in (">=3.6.0, <3.9", "~=3.8.0", "==3.8.*", "<3.8"):
        text = BOUNDS[name].format(bound)
        assert codes(name, text, session) == ["PRT840 manual"], bound
        assert codes(name, text) == [], "a project without torch"
        assert kind_of(name) == "python" or concerns(kind_of(name), text.encode())
    for bound in (">=3.6", ">=3.7,<3.12", "<4", "*", "~=3.7", ">=2.7,<3"):
        assert codes(name, BOUNDS[name].format(bound), session) == [], bound
    assert codes("a/pyproject.toml", BOUNDS["a/pyproject.toml"].format("~3.8"), session) == ["PRT840 manual"]
    assert codes("a/pyproject.toml", BOUNDS["a/pyproject.toml"].format("^3.7"), session) == []
