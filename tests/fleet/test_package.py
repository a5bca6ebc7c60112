"""A package of an index: its source distribution as a file, and nothing of it is run."""

from __future__ import annotations

import hashlib
import json
import zipfile
from pathlib import Path

import pytest
from fleet_world import TRAIN, served, tarred

from porter.errors import UserError
from porter.fleet.fetch import fetch


@pytest.fixture
def index(tmp_path, monkeypatch):
    """A simple index with one package, and the folder that it is of."""
    folder = tmp_path / "web"
    (folder / "simple" / "flash-toy").mkdir(parents=True)
    setup = f"open({str(tmp_path / 'ran')!r}, 'w')\nraise SystemExit('it was run')\n"
    tarred(folder / "flash_toy-1.0.tar.gz", {"setup.py": setup.encode(), "train.py": TRAIN.encode()}, "flash_toy-1.0/")
    with zipfile.ZipFile(folder / "flash_toy-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("flash_toy/a.py", TRAIN)
        wheel.writestr("flash_toy-1.0.dist-info/METADATA", "")
    with served(folder) as url:
        monkeypatch.setenv("PIP_INDEX_URL", f"{url}/simple")
        yield folder


def page(folder: Path, text: str) -> None:
    (folder / "simple" / "flash-toy" / "index.html").write_text(text, "utf-8")


def links(*names: str, mark: str = "") -> str:
    return "".join(f'<a href="../../{name}{mark}">{name}</a>' for name in names)


def fetched(tmp_path: Path, asked: str = "Flash_Toy==1.0") -> Path:
    return Path(fetch("package", asked, "", "p", str(tmp_path))[0])


def test_the_source_comes_before_the_wheel_and_its_setup_is_not_run(index, tmp_path):
    page(index, links("flash_toy-1.0-py3-none-any.whl", "flash_toy-1.0.tar.gz", "flash_toy-0.9.tar.gz", "junk.txt"))
    top = fetched(tmp_path)
    assert top.name == "flash_toy-1.0" and "it was run" in (top / "setup.py").read_text()
    assert not (tmp_path / "ran").exists()


def test_a_wheel_where_there_is_no_source(index, tmp_path):
    digest = hashlib.sha256((index / "flash_toy-1.0-py3-none-any.whl").read_bytes()).hexdigest()
    page(index, links("flash_toy-1.0-py3-none-any.whl", mark=f"#egg=flash-toy&sha256={digest}"))
    assert (fetched(tmp_path) / "flash_toy" / "a.py").read_text() == TRAIN


def test_an_index_that_speaks_json(index, tmp_path):
    digest = hashlib.sha256((index / "flash_toy-1.0.tar.gz").read_bytes()).hexdigest()
    row = {"filename": "flash_toy-1.0.tar.gz", "url": "../../flash_toy-1.0.tar.gz", "hashes": {"sha256": digest}}
    page(index, json.dumps({"files": [row]}))
    assert fetched(tmp_path).name == "flash_toy-1.0"
    row["hashes"]["sha256"] = "0" * 64
    page(index, json.dumps({"files": [row]}))
    (tmp_path / "again").mkdir()
    with pytest.raises(UserError, match="not the bytes that the index names"):
        fetched(tmp_path / "again")


@pytest.mark.parametrize(
    ("asked", "text", "why"),
    [
        ("flash-toy==2.0", links("flash_toy-1.0.tar.gz"), "no source distribution and no wheel of flash-toy==2.0"),
        ("flash-toy==x.y", "", "is no version"),
        ("nowhere==1.0", "", r"127\.0\.0\.1:\d+ answers 404"),
        ("flash-toy==1.0", '{"files": 3}', "cannot be read"),
        ("flash-toy==1.0", links("flash_toy-1.0.tar.gz", mark="#sha256=" + "0" * 64), "not the bytes"),
    ],
)
def test_what_cannot_be_had_is_told(index, tmp_path, asked, text, why):
    page(index, text)
    with pytest.raises(UserError, match=why):
        fetched(tmp_path, asked)
