"""Whatever is wrong with a checkpoint is one line that names the file, in both languages; and no header is believed."""

from __future__ import annotations

import json
import struct
import tracemalloc
import zipfile

import pytest
from checkpoint_world import (
    W,
    archive,
    distributed,
    f4,
    field,
    mindspore,
    npy,
    pickled,
    safetensors,
    streamed,
    tarred,
    zipped,
)
from drawn import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from porter.checkpoint.document import document
from porter.checkpoint.find import read
from porter.checkpoint.show import inspected
from porter.errors import UserError
from porter.files.errors import FilesError

TENSOR = W(f4(1, 2, 3, 4), (2, 2))
TREE = {"model": {"a": TENSOR, "b": W(f4(5), (1,))}}
GOOD = {
    "zip": zipped(TREE),
    "deflated": zipped(TREE, zipfile.ZIP_DEFLATED),
    "stream": streamed(TREE),
    "tar": tarred({"a": TENSOR}),
    "safetensors": safetensors({"a": ("F32", (2, 2), TENSOR.data), "b": ("F32", (1,), f4(5))}),
    "mindspore": mindspore([("a", "Float32", (2, 2), TENSOR.data), ("b", "Float32", (1,), f4(5))]),
    "npz": archive({"a.npy": npy("<f4", (2, 2), TENSOR.data)}),
    "npy": npy("<f4", (2, 2), TENSOR.data),
}


def refused(path, data: bytes | None = None) -> str:
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(UserError) as raised:
        read(str(path))
    en, zh = raised.value.text("en"), raised.value.text("zh")
    assert "\n" not in en + zh and en != zh and path.name in en and path.name in zh
    return en.split(": ", 1)[1]


def header(about: object, data: bytes = b"", size: int | None = None) -> bytes:
    text = about if isinstance(about, bytes) else json.dumps(about).encode()
    return struct.pack("<Q", len(text) if size is None else size) + text + data


def row(dtype: str = "F32", shape: object = (1,), offsets: object = (0, 4)) -> dict:
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "empty"),
        (b"\x7fELF" + bytes(100), "no checkpoint"),
        (header({}, size=1 << 40), "its header claims 1099511627776 bytes"),
        (header({}, size=99), "its header claims 99 bytes"),
        (header(b"{" + b'"a":{' * 50_000), "nested"),
        (header({"a": row()}), "was cut"),
        (header({"a": row(offsets=(4, 0))}, bytes(4)), "a: its offsets"),
        (header({"a": row(offsets=(-4, 0))}, bytes(4)), "a: its offsets"),
        (header({"a": row(shape=(-1,))}, bytes(4)), "a: its offsets"),
        (header({"a": row(shape=(1.0,))}, bytes(4)), "a: its offsets"),
        (header({"a": row(shape=(2,))}, bytes(4)), "a tensor of [2] float32 reaches beyond"),
        (header({"a": row(shape=(1 << 62, 1 << 62))}, bytes(4)), "no shape"),
        (header({"a": row(), "b": row()}, bytes(4)), "b: its offsets"),
        (header({"a": row(offsets=(4, 8))}, bytes(8)), "a: its offsets"),
        (header({"a": 7}), "a: its offsets"),
        (header(b'{"a":{"dtype":"F32","shape":[' + b"9" * 9999 + b'],"data_offsets":[0,4]}}', bytes(4)), "damaged"),
        (header(b'{"a":1,"a":2}'), "a is there twice"),
        (header(b"{\xff}"), "damaged"),
        (GOOD["zip"][:-30], "was cut"),
        (GOOD["zip"][: len(GOOD["zip"]) // 2], "was cut"),
        (archive({"a/b.txt": b"x"}), "without data.pkl"),
        (archive({"a/data.pkl": b"\x80\x02N."})[:-8] + b"\xff" * 8, ""),
        (zipped(TREE).replace(struct.pack("<I", 16) * 2, struct.pack("<I", 15) * 2), "needs 16 bytes, and 15 are there"),
        (GOOD["stream"][:-1], "was cut"),
        (GOOD["tar"][:1500], ""),
        (GOOD["mindspore"][:-1], "says that"),
        (field(1, field(1, b"a") + field(2, field(2, b"Float32") + field(3, bytes(3)))), "a tensor of [] float32 reaches beyond its storage of 3 bytes"),
        (b"\n\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\1", "damaged"),
        (npy("<f4", (1 << 40,), b""), "reaches beyond"),
        (npy("<f4", (-1,), b""), "no shape"),
        (b"\x93NUMPY\2\0" + struct.pack("<I", 1 << 31), "its header claims"),
    ],
)  # fmt: skip
def test_one_line_says_what_is_wrong(tmp_path, data, message):
    assert message in refused(tmp_path / "a.pt", data)


def test_views_that_reach_out_of_their_storage(tmp_path):
    for tensor in (W(f4(1), (2,)), W(f4(1, 2), (2,), strides=(2,)), W(f4(1), (1 << 50, 1 << 50), strides=(0, 0))):
        assert refused(tmp_path / "a.pt", zipped({"a": tensor}))
        assert refused(tmp_path / "a.pt", streamed({"a": tensor}))
    # spread over one number: read, and as large as it says
    (tmp_path / "a.pt").write_bytes(zipped({"a": W(f4(1), (1 << 20, 1 << 20), strides=(0, 0))}))
    assert read(str(tmp_path / "a.pt")).tensors["a"].count == 1 << 40


def test_members_that_lie(tmp_path):
    path = tmp_path / "a.pt"
    with pytest.warns(UserWarning, match="Duplicate"):
        stream = (tmp_path / "twice.pt").open("w+b")
        with stream, zipfile.ZipFile(stream, "w") as file:
            file.writestr("a/data.pkl", pickled({}))
            file.writestr("a/data.pkl", pickled({"b": 1}))
    assert "a/data.pkl is there twice" in refused(tmp_path / "twice.pt")
    data = bytearray(GOOD["zip"])
    data[0:4] = b"PK\3\4"
    at = data.rfind(b"PK\1\2")
    data[at + 42 : at + 46] = struct.pack("<I", 5)  # where the last member begins
    assert "does not begin where" in refused(path, bytes(data))
    data = bytearray(GOOD["zip"])
    end = data.rfind(b"PK\5\6")
    data[end + 12 : end + 16] = struct.pack("<I", 1 << 31)
    assert "its list of members claims" in refused(path, bytes(data))
    assert "archive/data/0 is missing" in refused(
        path, archive({"archive/data.pkl": zipfile.ZipFile(put(tmp_path, GOOD["zip"])).read("archive/data.pkl")})
    )


def put(tmp_path, data: bytes):
    (tmp_path / "good.pt").write_bytes(data)
    return tmp_path / "good.pt"


@pytest.mark.parametrize("place", ["../a.safetensors", "/etc/passwd", "sub/../../a", "..\\a", "C:/a", "", "a\0b"])
def test_paths_that_lead_out(tmp_path, place):
    path = tmp_path / "x" / "model.safetensors.index.json"
    path.parent.mkdir()
    (tmp_path / "a.safetensors").write_bytes(GOOD["safetensors"])
    assert "leads out of its folder" in refused(path, json.dumps({"weight_map": {"a": place}}).encode())
    folder = distributed(tmp_path / "dcp", {"w": ((1,), [((0,), (1,), f4(1))])})
    data = (folder / ".metadata").read_bytes()
    name = place.encode()
    old, new = (b"X" + struct.pack("<I", len(text)) + text for text in (b"__0_0.distcp", name))
    (folder / ".metadata").write_bytes(data.replace(old, new))
    with pytest.raises(UserError, match="leads out"):
        read(str(folder))


def test_what_is_missing(tmp_path):
    with pytest.raises(FilesError):
        read(str(tmp_path / "absent.pt"))
    (tmp_path / "empty").mkdir()
    assert "no checkpoint in this folder" in refused(tmp_path / "empty")
    (tmp_path / "mp_rank_00").mkdir()
    with pytest.raises(UserError, match=r"model_optim_rng\.pt is missing"):
        read(str(tmp_path))
    index = tmp_path / "a.bin.index.json"
    assert "weight_map is missing" in refused(index, b"[]")
    assert "nested" in refused(index, b"[" * 100_000)
    index.write_bytes(json.dumps({"weight_map": {"a": "gone.bin"}}).encode())
    with pytest.raises(FilesError):
        read(str(index))
    folder = distributed(tmp_path / "dcp", {"w": ((1,), [((0,), (1,), f4(1))])})
    (folder / "__0_0.distcp").unlink()
    with pytest.raises(UserError, match="__0_0.distcp is missing"):
        read(str(folder))
    (folder / ".metadata").write_bytes(pickled({}))
    with pytest.raises(UserError, match="no metadata"):
        read(str(folder))


@pytest.mark.parametrize("kind", GOOD)
@settings(max_examples=examples(150))
@given(data=st.data())
def test_no_damage_is_more_than_a_line(tmp_path_factory, kind, data):
    """Bytes changed, cut off, put in: a checkpoint, or one line."""
    good = bytearray(GOOD[kind])
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(good) - 1))
        way = data.draw(st.sampled_from(["change", "cut", "insert", "ones"]))
        if way == "cut":
            del good[at + 1 :]
        elif way == "insert":
            good[at:at] = data.draw(st.binary(max_size=9))
        else:
            good[at] = 255 if way == "ones" else data.draw(st.integers(0, 255))
    path = tmp_path_factory.mktemp("bad") / "a.pt"
    path.write_bytes(bytes(good))
    try:
        found = document(read(str(path)), "en")
    except UserError as error:
        assert "\n" not in str(error)
    else:
        assert inspected(found, "en") and json.dumps(found)


def test_a_header_of_seven_billion_parameters_needs_no_memory(tmp_path):
    """A file with a hole: none of its numbers are read."""
    rows, at = {}, 0
    for layer in range(32):
        for name in range(7):
            size = 4096 * 7635 * 2
            rows[f"layers.{layer}.{name}.weight"] = row("BF16", (4096, 7635), (at, at + size))
            at += size
    path = tmp_path / "a.safetensors"
    with path.open("wb") as stream:
        stream.write(header(rows))
        stream.truncate(stream.tell() + at)
    tracemalloc.start()
    try:
        found = document(read(str(path)), "en")
        assert tracemalloc.get_traced_memory()[1] < 5_000_000
    finally:
        tracemalloc.stop()
    assert found["parameters"] == 32 * 7 * 4096 * 7635 > 7_000_000_000
