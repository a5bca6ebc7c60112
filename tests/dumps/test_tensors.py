"""Dumps with the numbers of tensors: what statistics cannot show."""

from __future__ import annotations

import pytest
from checkpoint_world import W, f4, npy, numpy, zipped
from dumps_world import Made, told, whole

from porter.dumps.compared import compare
from porter.dumps.document import document

numpy()
VALUES = [1.0, -2.0, 3.0, 0.5]


def made(folder, values: list[float], form: str = "pt", ids: tuple[int, int] | None = None) -> Made:
    """One layer whose output has these numbers, and statistics that do not change with their order."""
    data = folder / "dump_tensor_data"
    data.mkdir(parents=True)
    numbers = {
        "Max": max(values),
        "Min": min(values),
        "Mean": sum(values) / 4,
        "Norm": sum(v * v for v in values) ** 0.5,
    }
    row = {"type": "torch.Tensor", "dtype": "torch.float32", "shape": [2, 2], "requires_grad": False, **numbers}
    name = f"Module.a.Linear.forward.0.output.0.{form}"
    if form == "pt":
        (data / name).write_bytes(zipped(W(f4(*values), (2, 2), "float32", "npu:0")))
    else:
        (data / name).write_bytes(npy("<f4", (2, 2), f4(*values)))
    into = whole(shape=(2,))
    if ids:
        into["data_name"] = "ids.npy"
        (data / "ids.npy").write_bytes(npy("<i8", (2,), b"".join(n.to_bytes(8, "little") for n in ids)))
    return Made(level="L0").forward("Module.a.Embedding.forward.0", [into], [{**row, "data_name": name}])


def result(tmp_path, one, other):
    return told(tmp_path, one, other)


@pytest.mark.parametrize("form", ["pt", "npy"])
def test_an_order_that_statistics_do_not_show(tmp_path, form):
    folders = [tmp_path / side / "step0" / "rank0" for side in ("gpu", "npu")]
    one, other = made(folders[0], VALUES, form, (1, 2)), made(folders[1], VALUES[::-1], form, (1, 2))
    found = result(tmp_path, one, other)
    assert (found.verdict.reason, found.has_tensors) == ("outputs", True)
    out = next(fact.values for fact in found.verdict.evidence if fact.key == "out")
    assert out["how"] == "tensors" and out["cosine"] == pytest.approx((0.5 - 6 - 6 + 0.5) / 14.25)


def test_integers_that_their_range_does_not_show(tmp_path):
    folders = [tmp_path / side / "step0" / "rank0" for side in ("gpu", "npu")]
    found = result(tmp_path, made(folders[0], VALUES, ids=(1, 2)), made(folders[1], VALUES[::-1], ids=(2, 1)))
    assert found.verdict.reason == "data"


def test_tensors_that_are_not_there_are_a_note(tmp_path):
    folders = [tmp_path / side / "step0" / "rank0" for side in ("gpu", "npu")]
    one, other = made(folders[0], VALUES), made(folders[1], VALUES[::-1])
    (folders[1] / "dump_tensor_data" / "Module.a.Linear.forward.0.output.0.pt").unlink()
    one.write(folders[0])
    other.write(folders[1])
    found = document(compare(str(tmp_path / "gpu"), str(tmp_path / "npu")), "en")
    assert found["reason"] == "equal" and "that are not there: 1" in found["notes"][0]["text"]
