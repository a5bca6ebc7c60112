"""What the shipped trace of PyTorch's operator database says, and how its file is written."""

from __future__ import annotations

import random

import pytest

from benchmarks.trace_file import pack
from porter.catalog.read import traced
from porter.resources import rules_dir

VERSION = "2.13.0"


def test_there_is_a_trace_of_the_version_porter_verifies_with() -> None:
    assert VERSION in traced.versions()
    assert len(traced.load(VERSION)) > 1000
    assert (rules_dir() / "catalog" / f"traced-{VERSION}.json.gz").stat().st_size < 20_000


def test_a_version_that_was_not_traced_has_nothing() -> None:
    assert traced.load("1.0.0") == {}


@pytest.mark.parametrize(
    ("api", "forward", "backward"),
    [
        ("torch.nn.functional.relu", {"aten::relu": "native"}, {"aten::threshold_backward": "native"}),
        ("torch.lgamma", {"aten::lgamma": "cpu"}, {"aten::digamma": "cpu", "aten::mul": "native"}),
        ("torch.Tensor.lgamma", {"aten::lgamma": "cpu"}, {"aten::digamma": "cpu", "aten::mul": "native"}),
        ("torch.Tensor.tril_", {"aten::tril_": "native"}, {"aten::tril": "native"}),
    ],
)
def test_forward_and_backward(api: str, forward: dict[str, str], backward: dict[str, str]) -> None:
    seen = traced.load(VERSION)[api]
    assert (seen.forward, seen.backward) == (forward, backward)


def test_a_backward_alone_can_be_on_the_cpu() -> None:
    seen = traced.load(VERSION)["torch.nn.functional.embedding_bag"]
    assert "cpu" not in seen.forward.values()
    assert seen.on_cpu == ("aten::_embedding_bag_backward",)


def test_a_derivative_of_torch_npus_own_is_not_told_of() -> None:
    seen = traced.load(VERSION)["torch.nn.functional.pdist"]
    assert seen.own_derivatives == ("aten::pdist",)
    assert seen.on_cpu == ()


def test_every_api_is_named_as_a_program_names_it() -> None:
    for api in traced.load(VERSION):
        assert api.startswith("torch."), api
        assert not api.startswith(("torch.torch", "torch.Tensor.Tensor")), api


def test_the_bytes_do_not_depend_on_the_order() -> None:
    def row(number: int) -> dict:
        kinds = ("native", "cpu_fallback", "composite")
        forward = {f"aten::op{number + i}": kinds[(number + i) % 3] for i in range(3)}
        entry = {"forward": forward, "backward": {"aten::mul": "native"}, "own": ["aten::b", "aten::a"][: number % 3]}
        return {"apis": {f"torch.api{number % 7}": entry}}

    rows = [row(number) for number in range(20)]
    packed = pack(rows, "2.13.0+cpu", "2.13.0")
    for seed in range(3):
        random.Random(seed).shuffle(rows)
        assert pack(rows, "2.13.0+cpu", "2.13.0") == packed


def test_what_is_written_is_read(tmp_path) -> None:
    seen = {
        "forward": {"aten::x": "native", "aten::y": "cpu_fallback"},
        "backward": {"aten::z": "composite"},
        "own": ["aten::x"],
    }
    other = {"forward": {"aten::y": "native"}, "backward": {}, "own": []}
    rows = [{"apis": {"torch.a": seen}}, {"apis": {"torch.a": other, "torch.b": other}}]
    (tmp_path / "traced-9.9.json.gz").write_bytes(pack(rows, "9.9", "9.9"))
    assert traced.versions(tmp_path) == ["9.9"]
    found = traced.load("9.9", tmp_path)
    assert found["torch.a"].forward == {"aten::x": "native", "aten::y": "cpu"}  # one overload on the CPU is what counts
    assert found["torch.a"].backward == {"aten::z": "composite"}
    assert found["torch.a"].own_derivatives == ("aten::x",)
    assert found["torch.b"] == traced.Traced({"aten::y": "native"}, {})
