"""The documentation overlay: made from facts alone, read in milliseconds, the nearest version where there is none."""

from __future__ import annotations

import gzip
import json

import pytest

from porter.catalog.make.overlay import main, make
from porter.catalog.read import documents
from porter.errors import UserError

SOURCE = {"repo": "o/r", "ref": "master", "commit": "0" * 40, "tree": "docs/x", "licence": "CC-BY-4.0", "note": "facts"}
APIS = {
    "Tensor.mode": {"status": "unsupported", "hw": []},
    "align_as": {"status": "supported", "hw": ["A2"]},
    "torch.acos": {"status": "constrained", "hw": ["A2", "A3"], "dtypes_named": ["fp32", "bf16"], "may_run_on_cpu": True},
    "torch.cuda.graph": {
        "status": "constrained", "hw": ["A2"], "inference_only": True, "npu_name": "torch_npu.npu.graph",
    },
    "torch.abs\u63a5\u53e3": {"status": "supported", "hw": ["A2"]},
}  # fmt: skip


def given(**changes) -> bytes:
    return json.dumps({"source": SOURCE, "apis": APIS, **changes}).encode()


def test_what_is_made(tmp_path):
    name, data = make("native_api_docs_2.7.json", given())
    assert name == "documents-2.7.json.gz"
    assert make("native_api_docs_2.7.json", given(apis=dict(reversed(APIS.items())))) == (name, data)
    table = json.loads(gzip.decompress(data))
    assert set(table["apis"]) == {
        "torch.Tensor.mode", "torch.Tensor.align_as", "torch.acos", "torch.cuda.graph", "torch.abs",
    }  # fmt: skip
    assert table["npu"] == {"torch.cuda.graph": "torch.npu.graph"}
    assert table["source"] == SOURCE
    row = table["rows"][table["apis"]["torch.acos"]]
    assert row == ["constrained", ["A2", "A3"], ["bfloat16", "float32"], 1]


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("facts.json", given(), "is not called native_api_docs_VERSION.json"),
        ("native_api_docs_2.7.json", b"{", "JSONDecodeError"),
        ("native_api_docs_2.7.json", given(source={}), "KeyError: 'repo'"),
    ],
)
def test_input_that_is_none(tmp_path, capsys, name, data, said):
    (tmp_path / name).write_bytes(data)
    assert main([str(tmp_path / name), "--output", str(tmp_path / "made")]) == 2
    assert f"{name}: " in (error := capsys.readouterr().err) and said in error and error.count("\n") == 1
    assert not list(tmp_path.rglob("documents-*"))


def test_shipped():
    assert documents.versions() == ["2.6", "2.7.1", "2.8", "2.9", "2.10", "2.11", "2.12", "2.13"]
    for version in documents.versions():
        tables = documents.load(version)
        assert tables.exact and tables.torch == version and len(tables.names()) > 3000
        assert tables.source.licence == "CC-BY-4.0" and tables.source.repo == "Ascend/pytorch"
        assert len(tables.source.commit) == 40 and tables.source.tree.startswith("docs/")
        assert all(name.startswith("torch.") and name.isascii() for name in tables.names())


def test_facts_of_2_7_1():
    tables = documents.load("2.7.1")
    assert tables.fact("torch.Tensor.mode", "A2").status == documents.UNSUPPORTED
    assert tables.fact("torch.nn.HuberLoss", "A2").may_run_on_cpu
    graph = tables.fact("torch.cuda.CUDAGraph", "A2")
    assert graph.inference_only and graph.npu_name == "torch.npu.NPUGraph"
    assert {"float16", "bool", "int8"} <= set(tables.fact("torch.Tensor.acos", "A3").dtypes)
    assert tables.fact("torch.linalg.eigh", "A2") is None  # absent from the tables: they are silent


def test_chips():
    tables = documents.load("2.7.1")
    assert tables.column("950") == "950DT"
    assert tables.fact("torch.nn.Linear", "A2").status == documents.CONSTRAINED
    assert tables.fact("torch.nn.Linear", "950").status == documents.UNSUPPORTED  # its column is not ticked
    assert tables.column("910") is tables.column("310P") is None
    assert tables.fact("torch.abs", "310P") is None
    assert documents.load("2.6").column("A3") == "A2"  # pages from before A3 had a column


@pytest.mark.parametrize(
    ("torch", "nearest"), [("2.1.0", "2.6"), ("2.7.1.post11", "2.7.1"), ("2.9.1+cpu", "2.9"), ("2.14.0", "2.13")]
)
def test_the_nearest_tables(torch, nearest):
    tables = documents.load(torch)
    assert tables.torch == nearest
    assert tables.exact is (torch not in ("2.1.0", "2.14.0"))


def test_unreadable_tables(tmp_path):
    with pytest.raises(UserError, match="no tables of supported APIs"):
        documents.load("2.7.1", tmp_path)
    (tmp_path / "documents-2.7.1.json.gz").write_bytes(b"no")
    with pytest.raises(UserError, match=r"documents-2\.7\.1\.json\.gz: cannot be read"):
        documents.load("2.7.1", tmp_path)
    (tmp_path / "documents-2.8.json.gz").write_bytes(gzip.compress(b'{"format": 99}'))
    with pytest.raises(UserError, match="format 99, this porter reads"):
        documents.load("2.8", tmp_path)
