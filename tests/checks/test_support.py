"""What an API is on the target, and what of it is said about a program."""

from __future__ import annotations

import pkgutil
import re

import pytest

from porter.analysis.python import analyse
from porter.analysis.session import open_session
from porter.catalog.read import documents
from porter.catalog.read.documents import Documents
from porter.catalog.read.load import load
from porter.catalog.read.verdict import KINDS, SEVERITY, Support
from porter.checks.support.names_gone import gone
from porter.engine.facts import Facts, Roads
from porter.engine.session import Quiet
from porter.rulebook import table
from porter.rulebook.words import words
from porter.target import Target

SESSION = open_session()
OF = SESSION.support.of


@pytest.mark.parametrize(
    ("api", "kind", "kernel", "status"),
    [
        ("torch.linalg.eigh", "cpu", "cpu", None),  # the tables are silent, the wheel is not
        ("torch.Tensor.digamma", "cpu", "cpu", None),
        ("torch.nn.HuberLoss", "cpu", "cpu", "constrained"),
        ("torch.nn.functional.adaptive_max_pool2d", "unverified", "native", "unsupported"),
        ("torch.nn.Linear", "constrained", "composite", "constrained"),
        ("torch.nn.modules.linear.Linear", "constrained", None, "constrained"),
        ("torch.distributions.Categorical", "supported", None, "supported"),
        ("torch.relu", "supported", "native", None),
        ("torch.rfft", "unknown", None, None),
        ("torch.optim.Muon", "unknown", None, None),
        ("torch.hpu.synchronize", "silent", None, None),  # another vendor's package puts it there
        ("torch.multiprocessing.Queue", "silent", None, None),
        ("torch.uint4", "value", None, None),
        ("torch.jit.Final", "silent", None, None),  # from typing
        ("torch.hub.urlparse", "silent", None, None),
        ("torch.torch", "silent", None, None),
        ("torch.cuda.synchronize", "moved", None, "supported"),
        ("torch.cuda.CUDAGraph", "inference", None, "constrained"),
        ("torch.cuda.nvtx.range_push", "missing", None, None),
        ("torch.npu.NPUGraph", "supported", None, None),
        ("torch.npu.CUDAGraph", "missing", None, None),
        ("torch_npu.npu_rms_norm", "supported", "native", None),
        ("torch.compiler.npugraph_mark_step_begin", "silent", None, None),  # torch_npu puts it there
        ("torch.compiler.npugraph_mark_step", "unknown", None, None),
        ("torch_npu.npu_silu", "deprecated", None, None),
        ("torch_npu.npu_dropout_of_nothing", "missing", None, None),
        ("torch.ops.aten._scaled_dot_product_cudnn_attention", "missing", None, None),
    ],
)
def test_verdicts(api, kind, kernel, status):
    verdict = OF(api)
    assert (verdict.kind, verdict.status) == (kind, status)
    assert kernel is None or verdict.kernel == kernel


def test_sources_that_disagree():
    assert OF("torch.nn.functional.adaptive_max_pool2d").disagree  # a kernel, but called unsupported
    assert not OF("torch.nn.HuberLoss").disagree  # both know of the CPU
    assert not OF("torch.nn.Linear").disagree


def test_none_of_torch():
    assert OF("torchvision.ops.nms") is OF("apex.amp.initialize") is None


def test_a_chip_without_tables():
    support = open_session(Target("2.7.1.post11", "310P")).support
    assert support.documents.column("310P") is None
    assert support.of("torch.linalg.eigh").kind == "cpu"
    assert support.of("torch.nn.functional.adaptive_max_pool2d").kind == "supported"


def test_words_for_every_kind():
    assert all(f"verdict.{kind}" in words("report", "en") for kind in KINDS) and set(SEVERITY) <= set(KINDS)


TEXT = """\
import torch
import torch.nn.functional as F


def f(x: torch.Tensor, names: dict, unknown):
    y = F.relu(x).digamma()
    names.values(), unknown.digamma(), "a b".split()
    return y.digamma().lgamma() + torch.digamma(x)
"""


def test_inventory():
    rows = {name: (count, line) for name, count, line in analyse("a.py", TEXT.encode(), SESSION).apis}
    assert rows["torch.Tensor.digamma"] == (2, 6)
    assert rows["torch.Tensor.lgamma"] == (1, 8)
    assert rows["torch.digamma"] == (1, 8)
    assert rows["torch.nn.functional.relu"] == (1, 6)
    assert not {"torch.Tensor.values", "torch.Tensor.split"} & set(rows)


def test_one_finding_for_a_file_and_an_api():
    found = [f for f in analyse("a.py", TEXT.encode(), SESSION).findings if f.code == "PRT702"]
    assert [(f.line, dict(f.values)["name"], dict(f.values)["count"]) for f in found] == [
        (6, "torch.Tensor.digamma", "2"),
        (8, "torch.Tensor.lgamma", "1"),
        (8, "torch.digamma", "1"),
    ]
    start = TEXT.splitlines()[7].index("torch.digamma")
    assert (found[2].column, found[2].end_column) == (start + 1, start + 1 + len("torch.digamma"))


@pytest.mark.parametrize("path", ["tests/a.py", "test_a.py", "a_test.py"])
def test_what_is_slow_in_a_test_is_slow_for_nobody(path):
    assert "PRT702" not in {f.code for f in analyse(path, TEXT.encode(), SESSION).findings}


def test_switched_off():
    quiet = open_session(quiet=Quiet(frozenset({"PRT702"})))
    assert "PRT702" not in {f.code for f in analyse("a.py", TEXT.encode(), quiet).findings}


def test_nothing_is_read_for_a_file_without_torch():
    session = open_session()
    analyse("a.py", b"import os\nprint(os.name)\n", session)
    assert "support" not in vars(session)


def test_documents_that_are_silent_say_nothing():
    documents = SESSION.support.documents
    assert isinstance(documents, Documents) and "torch.linalg.eigh" not in documents


def test_what_the_sources_leave_open_was_traced():
    """A backward that falls back, an operator behind a composite, and a module that computes in Python."""
    support = Support(load("2.7.1.post11"), documents.load("2.7.1.post11"), "A2")
    logcumsumexp = support.of("torch.logcumsumexp")
    assert (logcumsumexp.kind, logcumsumexp.kernel, logcumsumexp.operators) == (
        "constrained",
        "mixed",
        ("aten::_logcumsumexp",),
    )
    assert support.of("torch.nn.functional.embedding_bag").operators == ("aten::_embedding_bag_backward",)
    assert support.of("torch.nn.functional.interpolate").kernel == "native"


@pytest.mark.parametrize(
    ("name", "why"),
    [("torch.nn.SyncBatchNorm2d", "nowhere"), ("torch.rfft", "nowhere"), ("torch.optim.Muon", "newer")],
)
def test_what_no_torch_has_is_not_said_to_be_missing_from_one(name, why):
    found = analyse("a.py", f"import torch\nx = {name}(3)\n".encode(), SESSION).findings
    assert [(f.code, f.why) for f in found] == [("PRT701", why)]


@pytest.mark.parametrize("path, found", [("net_test.py", True), ("tests/net_test.py", False)])
@pytest.mark.parametrize(
    "run", ['if __name__ == "__main__":\n    f(torch.ones(1))', "args = argparse.ArgumentParser().parse_args()"]
)
def test_a_program_that_is_only_called_a_test_is_none(path, found, run):
    text = f"{TEXT}\nimport argparse\n{run}\n"
    assert ("PRT702" in {f.code for f in analyse(path, text.encode(), SESSION).findings}) is found
    with_a_model = text + "\ndef test(args, model):\n    return model(args.x)\n"
    is_one = found and "ArgumentParser" in run
    assert ("PRT702" in {f.code for f in analyse(path, with_a_model.encode(), SESSION).findings}) is is_one
    with_a_test = text + "\ndef test_f():\n    pass\n"
    assert "PRT702" not in {f.code for f in analyse(path, with_a_test.encode(), SESSION).findings}


@pytest.mark.parametrize("loads", [False, True])
@pytest.mark.parametrize(
    ("head", "alone", "loaded"),
    [
        ("", False, True),
        ("import torch\n", True, True),
        ("import tensorflow\n", False, False),
        ("import tensorflow\nimport torch\n", True, True),
    ],
)
def test_old_names_matter_where_something_computes_with_torch(head, alone, loaded, loads):
    about = open_session(facts=Facts(roads=Roads(loads=loads)))
    found = analyse("a.py", f"{head}from collections import Mapping\n".encode(), about).findings
    assert ("PRT713" in {f.code for f in found}) is (loaded if loads else alone)


@pytest.mark.parametrize(
    "text",
    [
        "try:\n    from collections import Mapping\nexcept ImportError:\n    from collections.abc import Mapping\n",
        "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from collections import Mapping\n",
    ],
)
def test_an_old_name_without_which_the_program_goes_on_stays(text):
    assert not analyse("a.py", f"import torch\n{text}".encode(), SESSION).findings


def there(name: str) -> bool:
    """Whether a program can import it, or read it from what it can import."""
    try:
        return pkgutil.resolve_name(name if "." in name else f"builtins.{name}") is not there
    except (ImportError, AttributeError):
        return False


def test_what_torch_took_away_is_gone_and_what_is_written_instead_is_there(needs_torch):
    rows = {name: row for name, row in gone(table.load()).items() if row[0][0] == "torch"}
    assert len(rows) > 20
    assert not [name for name in rows if there(name)]
    moved = [row[-1][1] for row in rows.values() if row[-1][0] == "moved"]
    said = [row[-1][1] for row in rows.values() if re.fullmatch(r"[\w.]+(?:\(\))?", row[-1][1])]
    assert moved and not [name for name in {*moved, *said} if not there(name.removesuffix("()"))]


@pytest.mark.parametrize(
    ("name", "version"), [("torch", "2.7.1+cpu"), ("torchvision", "0.22.1+cpu"), ("torchaudio", "2.7.1+cpu")]
)
def test_a_version_is_split_as_the_package_has_it(name, version):
    source = f'import {name}\nimport torch.cuda\n\nparts = tuple(map(int, {name}.__version__.split(".")))\n'
    (found,) = [f for f in analyse("a.py", source.encode(), SESSION).findings if f.code == "PRT721"]
    assert dict(found.values)["version"] == version
