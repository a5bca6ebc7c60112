"""What is there and is no file, no repository or no text of the project is passed by, and nothing waits for it."""

from __future__ import annotations

import os

import pytest
from files_world import POSIX, make

from porter.files.all_files import everything
from porter.files.discover import File, discover
from porter.files.ignore import git_directory
from porter.files.kinds import SHELL, kind_of
from porter.files.read import opened
from porter.files.record import FOLDER, LINK, OTHER, State, look
from porter.files.script_texts import LARGEST, MARK, spoken

pytestmark = POSIX


def test_a_pipe_is_read_where_it_is_asked_for(tmp_path):
    pipe = tmp_path / "log"
    os.mkfifo(pipe)
    writer = os.open(pipe, os.O_RDWR)
    os.write(writer, b"line")
    with opened(pipe, pipes=True) as (stream, _):
        assert stream.read(4) == b"line"
        os.close(writer)
        assert stream.read() == b"", "nobody writes to it any more"


def test_a_pipe_is_no_file_of_a_project(tmp_path):
    make(tmp_path, "a.py")
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "named.py").symlink_to("pipe.py")
    assert everything(tmp_path) == ["a.py"] and discover([tmp_path], root=tmp_path) == [File("a.py")]
    assert discover([tmp_path / "named.py"], root=tmp_path) == [File("named.py", "special")]


def test_what_stands_at_a_place(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    assert look(str(tmp_path / "pipe")) == State(OTHER)
    assert look(str(tmp_path / "link")) == State(LINK, "pipe")
    assert look(str(tmp_path)) == State(FOLDER)
    assert look(str(tmp_path / "none")) is look(str(tmp_path / "pipe/none")) is None


@pytest.mark.parametrize("text", ["", "nothing\n", "gitdir\n", "gitfile: x\n"])
def test_a_file_called_git_that_leads_nowhere(tmp_path, text):
    make(tmp_path, ".git", text=text)
    assert git_directory(str(tmp_path)) is None


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("Dockerfile", "dockerfile"),
        ("Dockerfile.gpu", "dockerfile"),
        ("docker/Dockerfile-uv-base", "dockerfile"),
        ("dockerfile_utils.py", "python"),
        ("dockerfile.md", "page"),
    ],
)
def test_a_suffix_says_more_than_the_word_dockerfile(name, kind):
    assert kind_of(name) == kind


def test_which_scripts_speak_of_a_project(tmp_path, monkeypatch):
    make(tmp_path, "train.sh", "tests/run.sh", text="torchrun train.py\n")
    make(tmp_path, "ascend_env.sh", text=f"{MARK.decode()}\nexport A=1\n")
    make(tmp_path, "data.json", text="[" + "1," * LARGEST + "1]")
    monkeypatch.chdir(tmp_path)
    assert [path for path, _ in spoken(tmp_path)] == ["train.sh"] and kind_of("train.sh") == SHELL
    assert list(spoken(tmp_path, paths=["train.sh"])) == [], "nothing says that it is a project"
    make(tmp_path, "pyproject.toml", text="")
    assert [path for path, _ in spoken(tmp_path, paths=["train.sh"])] == ["pyproject.toml", "train.sh"]
