"""What the files hold that a project brings along and loads by their names."""

from __future__ import annotations

import argparse
import io
import pickle
import zipfile
from collections import OrderedDict

import pytest

from porter.project.shipped_files import shipped_objects

HELD = argparse.Namespace(kind="small")


def archived(value):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
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
    found = shipped_objects(tmp_path, texts, ["a.py", "own/nets.py", "configs/pairs.th"])
    assert found == ((("configs/pairs.th", held),) if held else ())


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
