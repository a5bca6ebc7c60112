"""[tool.porter], porter.toml and the command line: what wins, and what each mistake is told."""

from __future__ import annotations

import pickle

import pytest
from command_line import Porter, write

from porter.analysis.session import open_session
from porter.engine.session import Quiet, _patterns
from porter.errors import UserError
from porter.files.ignore import Patterns
from porter.project.pins import choose, pins
from porter.rulebook.effort import Rate
from porter.run import config
from porter.run.config import Settings, codes, find, quiet, read

SLUGS = {"PRT001": "suppression-unused", "PRT101": "cuda-namespace", "PRT120": "device-literal", "PRT201": "backend"}


def settings(folder, text, name="pyproject.toml"):
    write(folder, {name: text})
    return read(find(folder))


def test_nothing_said(tmp_path):
    assert read(find(tmp_path)) == Settings()


def test_every_key(tmp_path):
    got = settings(
        tmp_path,
        """
        [tool.porter]
        select = ["PRT1"]
        ignore = ["device-literal"]
        per-file-ignores = { "tests/*" = ["PRT101"], "a.py" = ["PRT2"] }
        exclude = ["gen/"]
        target = "torch_npu=2.7.1.post11,soc=A2"
        soc = "A2"
        style = "portable"
        fail-on = "note"
        lang = "zh"
        baseline = "b.json"
        facts = ["mmcv.json"]
        jobs = 3
        effort = { run = "2 days", review = { further = "2 to 3 minutes" } }
        """,
    )
    assert got == Settings(
        ("PRT1",), ("device-literal",), (("tests/*", ("PRT101",)), ("a.py", ("PRT2",))), ("gen/",),
        "torch_npu=2.7.1.post11,soc=A2", "A2", "portable", "note", "zh", "b.json", ("mmcv.json",), 3,
        (Rate("run", (960, 960), None), Rate("review", None, (2, 3))), "configuration",
    )  # fmt: skip
    documented = {f.replace("_", "-") for f in Settings.__dataclass_fields__} - {"origin"}
    assert documented == set(find(tmp_path).values)


@pytest.mark.parametrize("text", ['[porter]\nlang = "zh"\n', 'lang = "zh"\n'])
def test_porter_toml(tmp_path, text):
    assert settings(tmp_path, text, "porter.toml").lang == "zh"


def test_porter_toml_comes_first(tmp_path):
    write(tmp_path, {"pyproject.toml": '[tool.porter]\nlang = "en"\n', "porter.toml": 'lang = "zh"\n'})
    assert read(find(tmp_path)).lang == "zh"


def test_nearest_that_speaks_of_porter(tmp_path):
    write(
        tmp_path,
        {
            "pyproject.toml": '[tool.porter]\nlang = "zh"\n',
            "a/pyproject.toml": "[project]\nname = 'porter-user'\n",
            "a/b/c.py": "",
        },
    )
    assert find(tmp_path / "a/b").file == tmp_path / "pyproject.toml"
    (tmp_path / "a/.git").mkdir()
    assert find(tmp_path / "a/b") is None, "a configuration above the repository is somebody else's"


MISTAKES = {
    "unknown key": (
        '[tool.porter]\nselct = ["PRT1"]\n',
        "pyproject.toml:2: unknown key 'selct'; did you mean 'select'?",
    ),
    "far key": ("[tool.porter]\n\nxyzzy = 1\n", "pyproject.toml:3: unknown key 'xyzzy'; known keys: select, ignore"),
    "not a list": ('[tool.porter]\nselect = "PRT1"\n', "pyproject.toml:2: select is a list of strings"),
    "not a string": ("[tool.porter]\nlang = 3\n", 'pyproject.toml:2: lang is a string: lang = "en"'),
    "not a number": ('[tool.porter]\njobs = "3"\n', "pyproject.toml:2: jobs is a number"),
    "a truth is no number": ("[tool.porter]\njobs = true\n", "pyproject.toml:2: jobs is a number"),
    "not a table": ("[tool.porter]\nper-file-ignores = 3\n", "pyproject.toml:2: per-file-ignores is a table"),
    "choice": (
        '[tool.porter]\nfail-on = "wrnog"\n',
        "pyproject.toml:2: fail-on: 'wrnog' is not known; did you mean 'wrong'?",
    ),
    "other choice": ('[tool.porter]\nlang = "fr"\n', "pyproject.toml:2: lang: 'fr' is not known; one of en, zh"),
    "no toml": ("[tool.porter]\nlang = \n", "pyproject.toml:2: not valid TOML"),
    "key in other table": ("[tool.x]\nselct = 1\n[tool.porter]\nselct = 1\n", "pyproject.toml:4: unknown key"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_name_file_line_and_cure(name, tmp_path):
    text, said = MISTAKES[name]
    with pytest.raises(UserError) as error:
        settings(tmp_path, text)
    assert str(error.value).startswith(said)


def test_key_beside_the_table(tmp_path):
    with pytest.raises(UserError, match=r"porter.toml:1: 'lang' stands outside \[porter\]"):
        settings(tmp_path, 'lang = "zh"\n[porter]\nstyle = "rename"\n', "porter.toml")


def test_command_line_wins():
    both = Settings(select=("PRT1",), lang="zh", target="soc=A2", origin="configuration")
    assert both.overridden(select=(), lang=None, target=None) == both
    got = both.overridden(select=("PRT2",), lang="en", target="soc=A3")
    assert (got.select, got.lang, got.target, got.origin) == (("PRT2",), "en", "soc=A3", "command-line")
    with pytest.raises(UserError, match="--fail-on: 'x' is none of blocker, wrong, slow, note"):
        both.overridden(fail_on="x")


def test_codes():
    assert codes(["PRT1"], SLUGS) == {"PRT101", "PRT120"}
    assert codes(["PRT12"], SLUGS) == {"PRT120"}
    assert codes(["PRT"], SLUGS) == set(SLUGS)
    assert codes(["backend", "PRT101"], SLUGS) == {"PRT101", "PRT201"}
    for wrong in ("PRT9", "prt1", "back", "PRT1011", ""):
        with pytest.raises(KeyError):
            codes([wrong], SLUGS)


def test_quiet():
    assert quiet(Settings(), SLUGS) == set()
    assert quiet(Settings(select=("PRT1",)), SLUGS) == {"PRT201"}, "what porter says about itself stays on"
    assert quiet(Settings(select=("PRT1",), ignore=("PRT120",)), SLUGS) == {"PRT201", "PRT120"}
    assert quiet(Settings(ignore=("PRT0",)), SLUGS) == {"PRT001"}


def test_what_is_off_by_default_is_turned_on_by_its_own_name_only():
    off = frozenset({"PRT201"})
    assert quiet(Settings(), SLUGS, off) == {"PRT201"}
    second = quiet(Settings(select=("PRT2",)), SLUGS, off)
    assert quiet(Settings(select=("PRT",)), SLUGS, off) == second - {"PRT101", "PRT120"}
    assert quiet(Settings(select=("PRT", "PRT201")), SLUGS, off) == set()
    assert quiet(Settings(select=("backend", "PRT1")), SLUGS, off) == set()
    assert quiet(Settings(select=("PRT201",), ignore=("PRT2",)), SLUGS, off) >= {"PRT201"}


@pytest.fixture
def porter(tmp_path, monkeypatch):
    (tmp_path / "r").mkdir()
    return Porter(monkeypatch, write(tmp_path / "r", {"a.py": "import torch\ntorch.cuda.synchronize()\n"}))


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (
            'ignore = ["PRT1", "cuda-namespac"]',
            "porter.toml:1: ignore: no rule is called 'cuda-namespac'; did you mean 'cuda-namespace'?",
        ),
        (
            'per-file-ignores = { "x" = ["nope-nope"] }',
            "porter.toml:1: per-file-ignores: no rule is called 'nope-nope'; `porter rules`",
        ),
        ('target = "torch_npu=9"', "porter.toml:1: no catalogue of torch_npu '9'; the nearest are "),
        (
            'target = "torch=2.7"',
            "porter.toml:1: 'torch=2.7' is not understood; did you mean 'torch_npu'?; write torch_npu=",
        ),
        ('soc = "A9"', "porter.toml:1: soc 'A9' is none of A2, A3, 910, 950, 310P"),
        ('baseline = "gone.json"', "gone.json: no such file or directory; `porter analyze --write-baseline` makes one"),
    ],
)
def test_what_only_a_command_can_check(porter, config, said):
    write(porter.folder, {"porter.toml": config + "\n"})
    got = porter("analyze", ".")
    assert got.code == 2 and got.err.startswith("porter: " + said) and got.err.count("\n") == 1
    assert got.out == b""


@pytest.mark.slow
def test_select_and_ignore_reach_the_engine(porter):
    assert "PRT101" in porter("analyze", ".", "-q").text
    assert porter("analyze", ".", "-q", "--ignore", "PRT10").out == b""
    assert porter("analyze", ".", "-q", "--select", "PRT2,PRT999").code == 2
    assert porter("analyze", ".", "-q", "--select", "PRT2").out == b""
    assert porter("migrate", ".", "--select", "PRT2").out == b"", "no edit of what was not selected"
    assert b"torch.npu" in porter("migrate", ".", "--select", "cuda-namespace").out


def test_per_file_ignores(porter):
    write(porter.folder, {"b.py": "import torch\ntorch.cuda.synchronize()\n"})
    write(porter.folder, {"porter.toml": 'per-file-ignores = { "b.*" = ["PRT1"] }\n'})
    assert {line.split(":")[0] for line in porter("analyze", ".", "-q").text.splitlines()} == {"a.py"}
    assert porter("analyze", "b.py", "-q").out == b""


IGNORED = {
    "a.py": (["a.py", "x/a.py", "a.py/b.py"], ["b.py", "a.pyi", "A.py"]),
    "/a.py": (["a.py"], ["x/a.py"]),
    "legacy/": (["legacy/a.py", "x/legacy/y/a.py"], ["legacy", "legacy.py"]),
    "tests/*": (["tests/a.py", "tests/x/a.py"], ["x/tests/a.py"]),
    "**/gen/*_pb2.py": (["gen/a_pb2.py", "x/gen/a_pb2.py"], ["gen/x/a_pb2.py"]),
    "a/**/b.py": (["a/b.py", "a/x/y/b.py"], ["b.py"]),
    "[ab]?.py  ": (["ax.py", "x/b1.py"], ["cx.py", "a.py"]),
    "!a.py": ([], ["a.py", "b.py"]),  # there is nothing that it could take back
    "# a.py": ([], ["a.py", "# a.py"]),
    "": ([], ["a.py"]),
    "[": ([], ["a.py", "["]),
}


@pytest.mark.parametrize("pattern", IGNORED)
def test_patterns_of_per_file_ignores_are_those_of_gitignore(pattern):
    off, on = IGNORED[pattern]
    session = open_session(quiet=Quiet(frozenset({"PRT2"}), ((pattern, frozenset({"PRT1"})),)))
    assert {path: sorted(session.quiet.codes(path)) for path in off + on} == {
        **{path: ["PRT1", "PRT2"] for path in off},
        **{path: ["PRT2"] for path in on},
    }


def test_patterns_of_per_file_ignores_are_compiled_once(monkeypatch):
    made = []
    _patterns.cache_clear()
    monkeypatch.setattr(Patterns, "of_settings", classmethod(lambda cls, lines: made.append(lines) or cls(lines)))
    session = open_session(quiet=Quiet(below=(("a.py", frozenset({"PRT1"})), ("b/", frozenset({"PRT2"})))))
    for path in ("a.py", "b/a.py", "c.py"):
        session.quiet.codes(path)
    assert made == [["a.py"], ["b/"]]
    sent = pickle.loads(pickle.dumps(session))
    assert sent.quiet.codes("b/a.py") == {"PRT1", "PRT2"}


def test_exclude(porter):
    write(
        porter.folder, {"gen/b.py": "import torch\ntorch.cuda.synchronize()\n", "porter.toml": 'exclude = ["gen/"]\n'}
    )
    assert "gen" not in porter("analyze", ".", "-q").text
    assert "a.py" not in porter("analyze", ".", "-q", "--exclude", "a.py").text
    assert "gen" in porter("analyze", "gen/b.py", "-q").text, "a file that is named is meant"
    assert porter("analyze", "gen/b.py", "-q", "--force-exclude").out == b""


def test_settings_above_the_root(porter):
    write(
        porter.folder,
        {"porter.toml": 'exclude = ["sub/gen/"]\n', "sub/setup.py": "", "sub/b.py": "", "sub/gen/c.py": ""},
    )
    write(porter.folder, {"sub/gen/c.py": "import torch\ntorch.cuda.synchronize()\n"})
    assert porter("analyze", "sub", "-q").out == b""


PINS = {
    "exact": ({"requirements.txt": "numpy\ntorch==2.7.1+cu118\n"}, "requirements.txt:2", (2, 7)),
    "comment": (
        {"requirements.txt": "# torch==1.0\ntorchvision==0.1\ntorch == 2.13.0  # x\n"},
        "requirements.txt:3",
        (2, 13),
    ),
    "far": ({"requirements.txt": "torch==1.13.1\n"}, "requirements.txt:1", None),
    "pyproject": (
        {"pyproject.toml": '[project]\ndependencies = [\n  "torch==2.13.0",\n]\n'},
        "pyproject.toml:3",
        (2, 13),
    ),
    "poetry": ({"pyproject.toml": '[tool.poetry.dependencies]\ntorch = "^2.13"\n'}, "pyproject.toml:2", (2, 13)),
    "setup.py": ({"setup.py": "setup(install_requires=['torch==2.13.0'])\n"}, "setup.py:1", (2, 13)),
    "conda": ({"environment.yml": "dependencies:\n  - pytorch=2.13\n"}, "environment.yml:2", (2, 13)),
    "folder": ({"requirements/gpu.txt": "torch==2.13.0\n"}, "requirements/gpu.txt:1", (2, 13)),
    "exact wins": ({"requirements.txt": "torch>=2.8\n", "setup.py": "['torch==2.7.1']"}, "setup.py:1", (2, 7)),
    "bound that the default keeps": ({"requirements.txt": "torch>=1.10\n"}, "default", (2, 7)),
    "bound that it does not": ({"requirements.txt": "torch>=2.9,<3\n"}, "requirements.txt:1", (2, 9)),
    "any two is no pin": ({"environment.yml": "  - pytorch=2.*\n"}, "default", (2, 7)),
    "post release": ({"requirements.txt": "torch==2.13.0.post1\n"}, "requirements.txt:1", (2, 13)),
    "not this one": ({"requirements.txt": "torch>=2.6,!=2.7\n"}, "requirements.txt:1", (2, 14)),
    "older than the default": ({"requirements.txt": "torch<2.7\n"}, "requirements.txt:1", (2, 6)),
    "no version": ({"requirements.txt": "torch==1..2\ntorch>=%s\n" % ("9" * 5000)}, "default", (2, 7)),
    "other packages": (
        {"requirements.txt": "torch-fidelity==0.3\ntorchaudio==2.13\npytorch-lightning==1.0\n"},
        "default",
        (2, 7),
    ),
    "torch_npu first": (
        {"requirements.txt": "torch==2.9.0\n", "setup.py": "extras = {'npu': ['torch_npu==2.8.0.post1']}\n"},
        "setup.py:1",
        (2, 8),
    ),
    "torch beside torch_npu": (
        {"requirements.txt": "torch==2.9.0\n", "requirements-npu.txt": "torch==2.8.0\ntorch-npu\n"},
        "requirements-npu.txt:1",
        (2, 8),
    ),
    "nearest that the bound leaves": (
        {"requirements.txt": "torch>=2.1.2\n", "setup.py": "extras = {'npu': ['torch==2.2.0', 'torch-npu==2.2.0']}\n"},
        "setup.py:1",
        (2, 6),
    ),
    "bounds that no version keeps": ({"requirements.txt": "torch>=1.10\ntorch==2.1.2\ntorch>2.99\n"}, None, (2, 1)),
    "two bounds": ({"requirements.txt": "torch>=2.8\n", "setup.py": "['torch<2.10']"}, "requirements.txt:1", (2, 8)),
    "bounds of alternatives": ({"requirements.txt": "torch<2.8\n", "setup.py": "['torch>=2.9']"}, "default", (2, 7)),
    "bound of torch_npu": ({"requirements.txt": "torch-npu>=2.8\n"}, "requirements.txt:1", (2, 8)),
    "a script beside a list": (
        {
            "requirements.txt": "torch>=2.0\n",
            "pyproject.toml": '[tool.hatch.envs.ci.scripts]\ntest = ["pip install torch==2.1.0 --index-url x"]\n',
        },
        "default",
        (2, 7),
    ),
    "a script alone": ({"pyproject.toml": 'test = ["pip install torch==2.1.0"]\n'}, "pyproject.toml:1", (2, 1)),
    "newer in the lists of programs": (
        {"setup.py": "['torch>=2.7']", "examples/requirements.txt": "x\ntorch==2.9.1\n"},
        "examples/requirements.txt:2",
        (2, 9),
    ),
    "older in the lists of programs": ({"examples/requirements.txt": "torch==2.1.0\n"}, "default", (2, 7)),
    "two in the lists of programs": (
        {"a/requirements.txt": "torch==2.9.1\n", "b/requirements.txt": "torch==2.8.0\n"},
        "default",
        (2, 7),
    ),
    "in the list of the pages": ({"docs/requirements.txt": "torch==2.9.1\n"}, "default", (2, 7)),
    "of no torch_npu": ({"a/requirements.txt": "torch==2.99.0\n"}, "default", (2, 7)),
    "against the bound": (
        {"setup.py": "['torch<2.9']", "a/requirements.txt": "torch==2.9.1\n"},
        "default",
        (2, 7),
    ),
    "none": ({}, "default", (2, 7)),
}


@pytest.mark.parametrize("name", PINS)
def test_pins(name, tmp_path):
    files, place, version = PINS[name]
    write(tmp_path, files)
    chosen, origin = choose(tmp_path, "2.7.1.post11")
    if place is not None:
        assert origin == place
    if version is not None:
        assert tuple(int(n) for n in chosen.split(".")[:2]) == version


def test_pins_are_text_only(tmp_path):
    write(tmp_path, {"setup.py": "open('ran', 'w')\nrequires = ['torch>=2,<2.5']\n"})
    assert [pin.place for pin in pins(tmp_path)] == ["setup.py:2"]
    assert not (tmp_path / "ran").exists()


@pytest.mark.slow
def test_target_and_its_origin_are_reported(porter):
    assert "(the default)" in porter("analyze", ".").text
    write(porter.folder, {"requirements.txt": "torch==2.13.0\n"})
    assert (
        "torch_npu 2.13.0, soc A2, style rename (from the torch version in requirements.txt:1)"
        in porter("analyze", ".").text
    )
    write(porter.folder, {"porter.toml": 'target = "torch_npu=2.7.1.post11,soc=A2"\n'})
    assert "torch_npu 2.7.1.post11, soc A2, style rename (from the configuration)" in porter("analyze", ".").text
    got = porter("analyze", ".", "--target", "torch_npu=2.13.0,soc=a3")
    assert "torch_npu 2.13.0, soc A3, style rename (from the command line)" in got.text


def test_line_of_a_key_in_another_spelling(tmp_path):
    write(tmp_path, {"pyproject.toml": "[tool]\nporter.selct = []\n"})
    with pytest.raises(UserError, match=r"pyproject.toml:2: unknown key"):
        read(find(tmp_path))
    assert config.find(tmp_path / "pyproject.toml") is not None
