"""porter catalog list, show, diff; targets that name a version in part."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import Porter

from porter.catalog.read.describe import between
from porter.catalog.read.load import load, nearby, newest, versions
from porter.commands.settings import known_version
from porter.errors import UserError


@pytest.fixture
def porter(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Porter:
    (tmp_path / "project").mkdir()
    return Porter(monkeypatch, tmp_path / "project")


GOAL = ("--target", "torch_npu=2.7.1.post11,soc=A2")


def shown(porter: Porter, api: str, *more: str) -> str:
    done = porter("catalog", "show", api, *(more or GOAL))
    assert done.code == 0, done.err
    return done.text


def facts(porter: Porter, api: str) -> dict:
    return json.loads(shown(porter, api, *GOAL, "--format", "json"))


@pytest.mark.slow
def test_list(porter: Porter) -> None:
    rows = porter("catalog", "list").text.splitlines()
    assert [row.split()[0] for row in rows] == versions()
    assert "operators of its own: 422; of torch's: 1095 native" in next(r for r in rows if r.startswith("2.7.1"))
    found = json.loads(porter("catalog", "list", "--format", "json").text)["versions"]
    assert [row["torch_npu"] for row in found] == versions() and len(found[0]["sources"][0]["sha256"]) == 64
    assert "原生" in porter("catalog", "list", "--lang", "zh").text


def test_an_api_of_cuda(porter: Porter) -> None:
    assert shown(porter, "torch.cuda.nvtx.range_push").splitlines() == [
        "torch.cuda.nvtx.range_push  torch_npu 2.7.1.post11, A2",
        f"  exists           in every version, {versions()[0]} to {versions()[-1]}",
        "  signature        (msg)",
        "  counterpart      none",
        "  transfer_to_npu  leaves it to CUDA",
        "  documents        do not mention it",
    ]
    assert "counterpart      torch.npu.synchronize" in shown(porter, "torch.cuda.synchronize")
    assert "torch.npu.NPUGraph.instantiate does not exist" in shown(porter, "torch.cuda.CUDAGraph.instantiate")


def test_an_api_of_torch(porter: Porter) -> None:
    text = shown(porter, "torch.linalg.eigh")
    assert "on the CPU: copied there and back at every call" in text and "aten::_linalg_eigh.eigenvalues" in text
    found = facts(porter, "torch.linalg.eigh")
    assert found["exists"] and found["kernel"] == "cpu" and all(found["versions"].values())
    assert "switches it off" in shown(porter, "torch.jit.script")
    assert "回退到 CPU" in shown(porter, "torch.linalg.eigh", *GOAL, "--lang", "zh")


def test_an_operator_of_torch_npu(porter: Porter) -> None:
    found = facts(porter, "torch_npu.npu_fusion_attention")
    assert found["kernel"] == "native" and found["signature"].startswith("(query, key, value, head_num, input_layout")
    assert found["operators"][0]["schema"].startswith("(Tensor query, Tensor key, Tensor value, int head_num")
    assert found["operators"][0]["implementations"] == ["op_api"]
    assert "use torch.nn.functional.silu instead" in shown(porter, "torch_npu.npu_silu")
    assert facts(porter, "aten::add.Tensor")["operators"][0]["kernel"] == "native"


@pytest.mark.slow
def test_what_nobody_knows(porter: Porter) -> None:
    done = porter("catalog", "show", "torch_npu.npu_fusion_atention")
    assert done.code == 2 and "did you mean 'torch_npu.npu_fusion_attention'?" in done.err
    assert porter("catalog", "show", "numpy.add").code == 2
    assert "in no version from" in shown(porter, "torch.accelerator.nothing_here")


@pytest.mark.slow
def test_diff(porter: Porter) -> None:
    done = porter("catalog", "diff", "2.7.1", "2.13.0")
    assert done.code == 0 and "  - torch.npu.MemPoolContext\n" in done.text
    found = json.loads(porter("catalog", "diff", "2.7.1", "2.13.0", "--format", "json").text)
    assert "torch.npu.MemPoolContext" in found["names"]["removed"]
    assert ["torch.npu.memory_snapshot", "()", "(mempool_id)"] in found["signatures"]["changed"]
    assert not found["kernels"]["added"] and found["operators"]["added"]
    assert porter("catalog", "diff", "2.13.0", "2.13.0").text == "No difference.\n"
    same = between(load("2.13.0"), load("2.13.0"))
    assert not any(rows for changes in same.values() for rows in changes.values())
    done = porter("catalog", "diff", "2.5.1", "2.13.0")
    assert done.code == 2 and "the nearest are 2.1.0.post17 and 2.6.0.post5; there are" in done.err
    assert porter("catalog", "diff", "2.6", "2.7", "--format", "xml").code == 2


@pytest.mark.parametrize("version", versions())
def test_versions_in_part(version: str) -> None:
    torch = version.partition(".post")[0]
    assert newest(version) == version and newest(torch) == version
    newer = [v for v in versions() if v.split(".")[:2] == version.split(".")[:2]]
    assert newest(".".join(version.split(".")[:2])) == newer[-1]
    assert known_version(torch) == version


def test_versions_that_are_not_there() -> None:
    assert newest("2.7.1.post10") is None and newest("newest") is None and newest("2.1.1") is None
    assert nearby("2.7.1.post10") == ["2.6.0.post5", "2.7.1.post11"]
    assert nearby("1.11.0") == ["2.1.0.post17"] and nearby("9.0") == [versions()[-1]] and nearby("newest") == []
    with pytest.raises(UserError, match="'3.0'; the nearest are"):
        known_version("3.0")


@pytest.mark.slow
def test_a_target_in_part(porter: Porter) -> None:
    (porter.folder / "a.py").write_text("import torch\nx = torch.ones(2).cuda()\n")
    for given, chosen in (("2.7", "2.7.1.post11"), ("2.6.0", "2.6.0.post5"), ("2.13", "2.13.0")):
        done = porter("analyze", ".", "--target", f"torch_npu={given},soc=950")
        assert f"torch_npu {chosen}, soc 950" in done.text, done.err
    done = porter("analyze", ".", "--target", "torch_npu=2.5.1")
    assert done.code == 2 and "the nearest are 2.1.0.post17 and 2.6.0.post5" in done.err
