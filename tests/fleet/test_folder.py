"""A folder of results: whose it is, and with which rights."""

from __future__ import annotations

import os
import stat

import pytest
from fleet_world import written

from porter.errors import UserError
from porter.fleet.folder import Folder
from porter.fleet.layout import MARK


@pytest.fixture
def folder(tmp_path):
    found = Folder(str(tmp_path / "out"))
    found.begin()
    yield found
    found.end()


def test_the_mark_is_there_before_anything_else(folder):
    assert os.listdir(folder.path) == [MARK]  # killed now, the folder is still ours


def test_a_result_has_the_rights_of_any_folder(folder, tmp_path):
    result = written(tmp_path / "result", {"row.json": "{}"})
    old = os.umask(0o027)
    try:
        folder.put("repositories", "a", str(result))
    finally:
        os.umask(old)
    assert stat.S_IMODE(os.stat(os.path.join(folder.path, "repositories", "a")).st_mode) == 0o750
    assert os.listdir(os.path.join(folder.path, ".unfinished")) == []


@pytest.mark.parametrize("kind", ["file", "link"])
def test_what_is_no_folder_is_told(tmp_path, kind):
    if kind == "file":
        (tmp_path / "out").write_text("mine")
    else:
        (tmp_path / "out").symlink_to("nowhere")
    with pytest.raises(UserError, match="cannot be written"):
        Folder(str(tmp_path / "out")).begin()
    assert (tmp_path / "out").is_symlink() or (tmp_path / "out").read_text() == "mine"
