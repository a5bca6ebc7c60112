"""Apex, native code, packages and what a program decides by its GPU: examples, names, and the packages' table."""

from __future__ import annotations

import ast
import inspect
import json
import re
from itertools import product

import pytest
from command_line import Porter
from rules_samples import RULE, forget

from porter.analysis.python import analyse
from porter.analysis.session import open_session
from porter.catalog.read.load import load as catalogue
from porter.catalog.read.load import versions
from porter.checks.apex.counterparts import COUNTERPARTS
from porter.checks.native.gpu_option import GpuOption
from porter.engine.facts import Facts
from porter.files import kinds
from porter.finding import apply
from porter.rulebook import table
from porter.rulebook.errors import RuleError
from porter.rulebook.gate import GATE
from porter.rulebook.texts import Texts
from porter.run.gather import gather
from porter.text.gate import concerns

pytest_plugins = ["rules_fixtures"]
CODES = [c for c in Texts().codes() if re.match(r"PRT(?:14\d|35\d|4\d\d)", c)]
ROWS = table.load().packages
SPOKEN = sorted(name for name, row in ROWS.items() if row.why and row.code == "PRT401")
NAMES = re.compile(r"\btorch(?:_npu|\.npu)(?:\.[A-Za-z_]\w*)+")
NO_NAMES = {  # a note may name what the catalogue does not hold
    "torch_npu.__version__": "an attribute of every module",
    "torch_npu.contrib.transfer_to_npu": "a module that is imported for what it does",
}


@pytest.mark.parametrize("code", CODES)
def test_the_example_of_a_rule(code, tmp_path):
    rule = Texts().rule(code)
    (tmp_path / "before.py").write_bytes(rule.before.encode())
    (tmp_path / ".gitmodules").write_text('[submodule "x"]\n\tpath = x/surface-rasteriser\n')  # not checked out
    (tmp_path / "requirements.txt").write_text("torchtext==0.2.3\n")
    facts = gather(tmp_path, ["before.py", "requirements.txt"])
    result = analyse("before.py", rule.before.encode(), open_session(facts=facts))
    assert code in {f.code for f in result.findings}
    assert apply(rule.before.encode(), result.review).decode() == rule.after
    ast.parse(rule.by_hand)


@pytest.mark.parametrize("code", CODES)
def test_what_is_finished_by_hand_leaves_nothing_to_do(code):
    rule = Texts().rule(code)
    found = {f.code for f in analyse("before.py", (rule.by_hand or rule.after).encode(), open_session()).findings}
    settled = {"PRT403", "PRT144", "PRT410"}  # a kernel stays one, and a test for an Ascend may stand beside an old one
    assert code not in found or code in settled


@pytest.mark.parametrize("version", versions())
def test_every_npu_name_in_the_texts_exists(version):
    about, texts = catalogue(version), Texts()
    for code in CODES:
        rule = texts.rule(code)
        said = [text for message in rule.messages.values() for text in message.values()]
        prose = [*rule.explain.values(), *said, rule.after, rule.by_hand]
        for name in {n for text in prose for n in NAMES.findall(text)} - NO_NAMES.keys():
            assert about.has(name), f"{code}: {name}"
    for name, row in ROWS.items():
        for other in row.replacement:
            assert not NAMES.fullmatch(other) or about.has(other), f"{name}: {other}"


# ---- packages

ASKING = {  # what more than the import has to be said
    "faiss": "faiss.StandardGpuResources()\n",
    "onnxruntime": 'wanted = ["CUDAExecutionProvider"]\n',
    **{name: f"{name}()\n" for name in ("recbole.config.Config", "recbole.quick_start.run_recbole")},
    **{name: f"{name}()\n" for name in SPOKEN if name.startswith("mmcv.parallel.")},
    "torchpack.distributed.init": "torchpack.distributed.init()\n",
    "torch_scatter.scatter": 'torch_scatter.scatter(x, index, reduce="max")\n',
}
NO_PORTS = (
    "vllm",
    "mmseg",
    "timm",
    "torch_geometric",
    "nvtx",
)  # without torch they are no port's business: `gate = false`


@pytest.mark.slow
def test_every_package_is_seen():
    session = open_session()
    for name in SPOKEN:
        line = f"import {name}\n".encode()
        opens = "nccl" in name or ".cuda." in name  # words that open any file
        assert bool(GATE.search(line)) is (name.partition(".")[0] not in NO_PORTS or opens), name
        more = ASKING.get(name, "")
        told = analyse("a.py", b"import torch\n" + line + more.encode(), session).findings
        assert [(f.code, f.status, dict(f.values)["name"]) for f in told] == [
            ("PRT401", "manual", ROWS[name].known_as[0])
        ]
        guarded = f"import torch\n\ntry:\n    import {name}\nexcept ImportError:\n    found = False\n{more}".encode()
        assert [f.severity for f in analyse("a.py", guarded, session).findings] == ["note"], name


@pytest.mark.slow
def test_a_native_package_is_no_finding():
    session, native = open_session(), sorted(name for name, row in ROWS.items() if row.status == "native")
    assert native and not [name for name in native if ROWS[name].why]
    for name in native:
        text = f"import torch\nimport {name}\nfrom {name} import x\n".encode()
        assert not analyse("a.py", text, session).findings, name


def test_a_project_is_not_told_that_it_imports_itself(tmp_path):
    own = ["megatron/core/__init__.py", "tools/own/src/apex/__init__.py"]
    facts = gather(tmp_path, [*own, "a/__init__.py", "a/triton/__init__.py", "examples/lightning/train.py"])
    assert facts.own.packages == ("megatron", "tools/own/apex")
    assert facts.own.has_package("megatron", "pretrain.py") and facts.own.has_package("apex", "tools/own/tests/a.py")
    assert not facts.own.has_package("apex", "main.py") and not facts.own.has_package("triton", "a/c.py")
    assert not analyse("train.py", b"import torch\nimport megatron.core\n", open_session(facts=facts)).findings
    assert analyse("train.py", b"import torch\nimport megatron.core\n", open_session(facts=Facts())).findings


def test_one_finding_for_each_package_and_file():
    text = (
        "import torch\nfrom xformers import ops\nimport cupy\n\n\ndef f():\n    import xformers.ops\n    import cupy\n"
    )
    found = analyse("a.py", text.encode(), open_session()).findings
    assert [(f.line, dict(f.values)["name"]) for f in found] == [(2, "xformers"), (3, "cupy")]


PACKAGE = '[[package]]\ncode = "PRT101"\nimport = "x"\nstatus = "none"\nevidence = "seen"\n'
PACKAGE += 'message = { en = "a", zh = "甲" }\n'
NATIVE = '[[package]]\ncode = "PRT101"\nimport = "x"\nstatus = "native"\nevidence = "seen"\n'
OPTION = '[[option]]\ncode = "PRT101"\nkeyword = "k"\nvalue = "1"\nmessage = { en = "a", zh = "甲" }\n'


def test_the_stanzas_arrive(folder, cache):
    named = (
        PACKAGE.replace('"x"', '["x", "y.z"]')
        + 'replacement = "torch"\nname = ["x-gpu"]\ndevice = 2\nseverity = "slow"\nmodule = "z"\n'
    )
    tables = table.load(folder(RULE + named + OPTION + 'to = "2"\ncall = ["f"]\nbeside = ["b"]\n'))
    row = (
        "PRT101",
        "none",
        None,
        (),
        ("", "", ()),
        ("torch",),
        ("x-gpu",),
        (),
        None,
        (),
        2,
        ("", "", ""),
        "slow",
        "x",
        ("x", "z"),
    )
    assert tables.packages == {"x": row, "y.z": row}
    assert tables.options == {"k": [("PRT101", ("1",), ("f",), "2", ("b",), None, "", "blocker", "minutes", "k=1")]}


@pytest.mark.parametrize(
    "text, complaint",
    [
        (PACKAGE + PACKAGE, "x"),
        (PACKAGE.replace('"none"', '"soon"'), "status is not one of native, plugin, replace, none"),
        (PACKAGE.replace('"none"', '"native"'), "a native package is no finding"),
        (PACKAGE + 'since = "1.0"\n', "only a package of status native or plugin has one"),
        (NATIVE + 'since = "soon"\n', "since is not a version, as in 0.21.0"),
        (NATIVE + 'beside = { y = "1.0" }\n', "'beside' without 'since'"),
        (NATIVE + 'changed_at = "1.0"\n', "'changed_at' without 'since'"),
        (NATIVE + 'since = "1.0"\nwants = "y>=1.0"\n', "'wants' without 'changed_at'"),
        (NATIVE + 'asks = ["y>=1.0"]\n', "'asks' without 'since'"),
        (NATIVE + 'since = "1.0"\nasks = ["y<1.0"]\n', "asks must be a package and its least version"),
        (NATIVE + 'since = "1.0"\nasks = "y>=1.0"\n', "asks must be a list of packages"),
        (NATIVE + 'since = "1.0"\nbeside = { y = 2 }\n', "beside has 'y', whose version is not a version"),
        (PACKAGE.replace('evidence = "seen"\n', ""), "'evidence' is missing"),
        (OPTION.replace('value = "1"', "value = []"), "value is not a list with something in it"),
        (OPTION.replace("PRT101", "PRT999"), "has the code PRT999"),
        (OPTION + 'unmet = { en = "a", zh = "甲" }\n', "'unmet' without 'met'"),
    ],
)
def test_what_the_schema_refuses(folder, cache, text, complaint):
    forget()
    with pytest.raises(RuleError, match=re.escape(complaint)):
        table.load(folder(RULE + text))


@pytest.mark.slow
def test_every_option_passes_the_filter():
    for keyword, rows in table.load().options.items():
        for row in rows:
            for call, value in product(row.calls or ("",), row.values):
                assert any(re.search(p, f"{call}({keyword}={value})") for p in GpuOption.text), (call, keyword, value)


# ---- apex


@pytest.mark.slow
@pytest.mark.parametrize("full", sorted(COUNTERPARTS))
def test_a_counterpart_takes_what_porter_leaves(needs_torch, full):
    import torch

    found, owner = COUNTERPARTS[full], torch
    for word in found.module.split(".")[1:]:
        owner = getattr(owner, word)
    parameters = inspect.signature(getattr(owner, found.name)).parameters
    assert found.keywords | found.added.keys() | set(dict(found.renamed).values()) <= parameters.keys()
    assert not (found.dropped | dict(found.renamed)).keys() & parameters.keys() - {"amsgrad", "capturable"}


@pytest.mark.parametrize(
    "text",
    [
        "try:\n    from apex import amp\nexcept ImportError:\n    amp = None\n",
        "try:\n    import amp_C\n    HAS = True\nexcept ImportError:\n    HAS = False\nx = HAS and amp_C.multi_tensor_scale\n",
        "import amp_C, os\nprint(os.sep, amp_C.multi_tensor_scale)\n",
        "from apex.optimizers import FusedAdam\nopt = FusedAdam(p, **options)\n",
        "from apex.optimizers import FusedAdam\na = FusedAdam(p, adam_w_mode=False)\nb = FusedAdam(p)\n",
        "from apex.optimizers import *\nopt = FusedAdam(p)\n",
        "import apex\nopt = apex.optimizers.FusedAdam(p)\n",  # torch has no name there
    ],
)
def test_what_stays(text):
    result = analyse("a.py", text.encode(), open_session())
    assert result.findings and not result.review


# ---- finished examples, tried


def example(code: str, name: str, *without: str):
    text = Texts().rule(code).by_hand
    for line in ("import torch_npu  # noqa: F401\n", *without):
        text = text.replace(line, "")
    space: dict = {}
    exec(text, space)
    return space[name]


def test_attention_by_hand(needs_torch):
    import torch

    q, k, v = torch.randn(2, 5, 4, 8), torch.randn(2, 5, 2, 8), torch.randn(2, 5, 2, 8)
    wide = [x.repeat_interleave(2, dim=2) for x in (k, v)]
    scores = torch.einsum("bqhd,bkhd->bhqk", q, wide[0]) / 8**0.5
    scores = scores.masked_fill(torch.ones(5, 5, dtype=torch.bool).triu(1), float("-inf"))
    expected = torch.einsum("bhqk,bkhd->bqhd", scores.softmax(-1), wide[1])
    torch.testing.assert_close(example("PRT409", "attend")(q, k, v), expected)


def test_lists_of_tensors_by_hand(needs_torch):
    import torch

    grads = [torch.randn(3, 4), torch.randn(7)]
    torch.testing.assert_close(example("PRT354", "norm")(grads), torch.cat([g.flatten() for g in grads]).norm())


def test_scatter_by_hand(needs_torch):
    import torch

    messages, index = torch.randn(6, 3), torch.tensor([0, 2, 2, 1, 0, 2])
    of_nodes = (messages[index == node] for node in range(4))
    expected = torch.stack([own.amax(0) if len(own) else torch.zeros(3) for own in of_nodes])
    torch.testing.assert_close(example("PRT401", "pool")(messages, index, 4), expected)


def test_what_a_test_leaves_to_lightning_may_run_anywhere() -> None:
    source = b"from lightning import Trainer\n\nTrainer(max_epochs=1)\nTrainer(accelerator='gpu')\n"
    found = {
        path: [(f.line, f.why) for f in analyse(path, source, open_session()).findings]
        for path in ("a.py", "tests/a.py")
    }
    assert found == {"a.py": [(3, "automatic"), (4, "gpu")], "tests/a.py": [(4, "gpu")]}


@pytest.mark.parametrize("made", ["pytorch_lightning.trainer.Trainer", "lightning.Fabric"])
def test_a_configuration_that_names_nothing_but_a_trainer_is_read(made: str) -> None:
    source = f'class Conf:\n    _target_: str = "{made}"\n'.encode()
    assert GATE.search(source) and concerns(kinds.YAML, f"_target_: {made}\n".encode())
    assert [(f.code, f.why, f.line) for f in analyse("conf.py", source, open_session()).findings] == [
        ("PRT408", "configured", 2)
    ]


@pytest.mark.parametrize(
    ("kernel", "cure"),
    [
        ("multi_tensor_lamb_stage1_cuda", "lamb"),
        ("fused_lamb_cuda", "lamb"),
        ("multi_tensor_adam", "fused_adam"),
        ("multi_tensor_scale", "multi_tensor"),
        ("lamb_masked", "optimiser_step"),
    ],
)
def test_lamb_has_a_counterpart_of_its_own(kernel: str, cure: str) -> None:
    """torch has no LAMB, and its functions over lists are no part of one."""
    found = table.load().kernel(kernel)
    assert found is not None and found.why == cure
    assert cure != "lamb" or found.replacement == ("torch_npu.optim.NpuFusedLamb",)


TESTS_OF_PACKAGES = {
    "PRT350": ("apex", "from apex import amp\n\n\ndef test(model, optimizer):\n    amp.initialize(model, optimizer)\n"),
    "PRT354": (
        "apex",
        "import amp_C\nimport torch\n\n\ndef test(x):\n    amp_C.multi_tensor_scale(1, x, [[x]], 2.0)\n",
    ),
    "PRT409": (
        "xformers",
        "from xformers.ops import memory_efficient_attention as m\n\n\ndef test(q):\n    m(q, q, q)\n",
    ),
}


@pytest.mark.parametrize("code", TESTS_OF_PACKAGES)
def test_a_packages_own_tests_stay(tmp_path, monkeypatch, code):
    package, text = TESTS_OF_PACKAGES[code]
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_it.py").write_text(text)

    def told() -> set[str]:
        found = json.loads(Porter(monkeypatch, tmp_path)("analyze", ".", "--format", "json").text)
        return {f["code"] for f in found["findings"]}

    about = {code, "PRT401"}  # the finding of a package names the calls of it
    assert about & told()
    (tmp_path / package / "ops").mkdir(parents=True)
    (tmp_path / package / "__init__.py").touch()
    (tmp_path / package / "ops" / "__init__.py").touch()
    assert not about & told()
