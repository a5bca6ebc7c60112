"""What the files hold that a project brings along and loads by their names."""

from __future__ import annotations

import argparse
import io
import os
import pickle
import zipfile
from collections import OrderedDict

import pytest

from porter.files.read import LIMIT
from porter.project.shipped_files import shipped_objects

HELD = argparse.Namespace(kind="small")


def archived(value, compression=zipfile.ZIP_STORED):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as archive:
        archive.writestr("archive/version", "3")
        archive.writestr("archive/data.pkl", pickle.dumps(value, 2))
    return stream.getvalue()


@pytest.mark.parametrize(
    ("data", "held"),
    [
        (archived({"a": HELD}), "argparse.Namespace"),
        (archived(OrderedDict(a=1)), ""),
        (pickle.dumps(119547037146038801333356, 2) + pickle.dumps(HELD, 2), "argparse.Namespace"),  # before torch 1.6
        (archived({"a": HELD})[:-30], ""),
        (archived({"a": HELD}, zipfile.ZIP_LZMA), "argparse.Namespace"),
        (archived({"a": HELD}, zipfile.ZIP_LZMA).replace(b"\x5d\0\0", b"\xff\xff\xff"), ""),
        (pickle.dumps([*range(500_000), HELD], 2), ""),  # too long to be read step by step
        (b"\x80\x02ccollections\nOrderedDict\n.", ""),
        (b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n.", ""),
        (b"version https://git-lfs.github.com/spec/v1\n", ""),
        (b"\x80\x02cown.nets\nSmall\n.", "own.nets.Small"),
        (b"\x80\x02cother.nets\nSmall\n.", ""),
        (b"", ""),
    ],
)
def test_what_a_file_holds(tmp_path, data, held):
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs/pairs.th").write_bytes(data)
    texts = {"a.py": b"pairs = torch.load('configs/pairs.th')\n"}
    found = shipped_objects(
        tmp_path,
        texts,
        ["a.py", "own/nets.py", "own/collections.py", "other/nets", "torch/_utils.py", "configs/pairs.th"],
    )
    assert found == ((("configs/pairs.th", held),) if held else ())


def test_a_file_beyond_the_limit_is_not_looked_into(tmp_path):
    file, texts = tmp_path / "pairs.th", {"a.py": b"pairs = torch.load('pairs.th')\n"}
    file.write_bytes(pickle.dumps(HELD, 2))
    for size, found in ((LIMIT, (("pairs.th", "argparse.Namespace"),)), (LIMIT + 1, ())):
        os.truncate(file, size)
        assert shipped_objects(tmp_path, texts, ["pairs.th"]) == found


def test_which_file_is_meant(tmp_path):
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "pairs.th").write_bytes(archived(HELD))
    texts = {"a.py": b"pairs = torch.load('pairs.th')\n"}
    assert shipped_objects(tmp_path, texts, ["one/pairs.th"]) == (("pairs.th", "argparse.Namespace"),)
    assert shipped_objects(tmp_path, texts, ["one/pairs.th", "two/pairs.th"]) == ()
    assert shipped_objects(tmp_path, {"a.py": b"torch.load(path)"}, ["one/pairs.th"]) == ()


def test_all_files_of_a_computed_name(tmp_path):
    texts = {"a.py": b"colors = torch.load(f'data/{self.mode}.pt')\n"}
    (tmp_path / "data").mkdir()
    for name in ("easy", "hard"):
        (tmp_path / f"data/{name}.pt").write_bytes(archived(HELD))
    files = ["data/easy.pt", "data/hard.pt"]
    assert shipped_objects(tmp_path, texts, files) == (("data/{self.mode}.pt", "argparse.Namespace"),)
    (tmp_path / "data/hard.pt").write_bytes(archived([1, 2]))
    assert shipped_objects(tmp_path, texts, files) == ()


def test_too_many_files_may_be_meant(tmp_path):
    for number in range(17):
        (tmp_path / f"{number}.pt").write_bytes(archived(HELD))
    texts = {"a.py": b"colors = torch.load(f'{number}.pt')\n"}
    files = [f"{number}.pt" for number in range(17)]
    assert shipped_objects(tmp_path, texts, files[:16]) == (("{number}.pt", "argparse.Namespace"),)
    assert shipped_objects(tmp_path, texts, files) == ()
