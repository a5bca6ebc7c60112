"""What a list may name, and what is told of a line that names nothing."""

from __future__ import annotations

import pytest
from fleet_world import committed, repositories, tarred, written

from porter.errors import UserError
from porter.fleet.entries import Entry, entries, libraries

pytestmark = pytest.mark.slow  # git is started


@pytest.fixture
def folder(tmp_path):
    repositories(tmp_path / "here")
    committed(tmp_path / "here" / "git", {"a.py": ""})
    tarred(tmp_path / "here" / "model-1.0.tar.gz", {"a.py": b""})
    return tmp_path / "here"


def listed(folder, text: str, name: str = "list.txt") -> list[Entry]:
    (folder / name).write_text(text, "utf-8")
    return entries(str(folder / name), str(folder / "out"))


@pytest.mark.parametrize(
    ("line", "kind", "name"),
    [
        ("train", "folder", "train"),
        ("./train  # a comment", "folder", "train"),
        ("'train'", "folder", "train"),
        ("train name=other", "folder", "other"),
        ("git revision=main", "git", "git"),
        ("model-1.0.tar.gz", "archive", "model-1.0"),
        ("https://example.org/a/model.zip?x=1", "archive", "model"),
        ("https://example.org/team/repo.git", "git", "repo"),
        ("ssh://git@example.org/team/repo", "git", "repo"),
        ("git@example.org:team/repo.git", "git", "repo"),
        ("flash-attn==2.5.8", "package", "flash-attn==2.5.8"),
        ("'a folder #2'  # don't count", "folder", "a folder #2"),
        ("file://HERE/a%20folder%20%232", "folder", "a%20folder%20%232"),
    ],
)
def test_what_a_line_may_name(folder, line, kind, name):
    (folder / "a folder #2").mkdir()
    (entry,) = listed(folder, line.replace("HERE", str(folder)))
    assert (entry.error, entry.kind, entry.name, entry.place) == (None, kind, name, "list.txt:1")


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("nothing/there", "no such folder or archive"),
        ("htp://example.org/x", "htp: URLs are of http, https"),
        ("https://", "a URL without a host"),
        ("git://me:secret@example.org/x.git", "git:// knows no user"),
        ("https://[::1/x.git", "not a URL"),
        ("ext::sh%20-c%20touch%20x", "no such folder"),
        ("ext://sh%20-c%20touch%20x", "ext: URLs are of http, https"),
        ("flash/attn==1.0", "no such folder"),
        ("train now please", "'now' is not understood"),
        ("train revison=1", "'revison=1' is not understood"),
        ("train 'open", "a quote is not closed"),
        ("git revision=--upload-pack=x", "is no revision of git"),
        ("model-1.0.tar.gz revision=v1", "only a git repository has a revision"),
        ("train/train.py", "neither a folder nor an archive"),
        ("\x1b[31mtrain", "invisible characters"),
        ("}{;-)", "no such folder"),
    ],
)
def test_a_line_that_is_nonsense_is_one_row_with_one_reason(folder, line, why):
    first, second = listed(folder, f"train\n\n{line}\n")
    assert first.error is None and second.place == "list.txt:3"
    assert why in second.error["en"] and second.error["zh"] and "\x1b" not in second.source


def test_toml_says_the_same(folder):
    text = (
        '[[repository]]\nsource = "train"\n\n[[repository]]\nsource = "git"\nrevision = "main"\nname = "g"\n'
        '[[repository]]\nname = "x"\n[[repository]]\nsource = "train"\nrevison = "x"\n[[repository]]\nsource = "train"\nname = 3\n'
    )
    found = listed(folder, text, "list.toml")
    assert [(e.kind, e.name, e.place) for e in found[:2]] == [
        ("folder", "train", "list.toml:1"),
        ("git", "g", "list.toml:4"),
    ]
    assert [e.error["en"] for e in found[2:]] == [
        'source = "..." is missing',
        "unknown key 'revison'; did you mean 'revision'?",
        "name is a string",
    ]
    assert [e.place for e in found[2:]] == ["list.toml:8", "list.toml:10", "list.toml:13"]


def test_a_list_that_cannot_be_read_is_no_fleet(folder):
    for name, text, why in (("a.toml", "x = ", "a.toml:1"), ("b.txt", "# nothing\n", "names no repository")):
        with pytest.raises(UserError, match=why):
            listed(folder, text, name)
    (folder / "c.txt").write_bytes(b"\xff\xfe")
    with pytest.raises(UserError, match="not UTF-8"):
        entries(str(folder / "c.txt"), "out")


def test_a_folder_is_a_list_of_its_folders(folder):
    (folder / ".hidden").mkdir()
    (folder / "out").mkdir()
    found = entries(str(folder), str(folder / "out"))
    assert [entry.name for entry in found] == ["both", "flash", "git", "plain", "scatter", "train"]


def test_a_folder_of_a_folder_is_one_whatever_its_name_looks_like(folder):
    """Nothing is asked of an index or of another machine that no list names."""
    names = ["a==1.0", "me@example.org:repo", "~me"]
    for name in names:
        (folder / "odd" / name).mkdir(parents=True)
    found = entries(str(folder / "odd"), str(folder / "out"))
    assert [(entry.kind, entry.name, entry.error) for entry in found] == [("folder", name, None) for name in names]
    assert [entry.where for entry in found] == [str(folder / "odd" / name) for name in names]


def test_two_of_one_name_are_two_and_one_that_is_named_twice_is_told(folder, tmp_path):
    written(tmp_path / "elsewhere" / "train", {"a.py": ""})
    one, other, again = listed(folder, "train\n../elsewhere/train\ntrain\n")
    assert one.name == other.name == "train" and len({one.id, other.id, again.id}) == 3
    assert one.error is other.error is None and again.error["en"] == "named before, in list.txt:1"


def test_the_id_of_one_that_is_named_again_does_not_depend_on_others(folder):
    short, long = listed(folder, "train\ntrain\ntrain\n"), listed(folder, "flash\ntrain\ngit\ntrain\ntrain\n")
    assert [entry.id for entry in short] == [entry.id for entry in long if entry.name == "train"]
    assert len({entry.id for entry in long}) == 5


@pytest.mark.parametrize("text", ["", "  "])
def test_a_library_without_a_name_is_told_so(text):
    (entry,) = libraries([text])
    assert entry.error["en"] == "no source, or one with invisible characters"


def test_an_id_does_not_depend_on_the_rest_of_the_list(folder):
    alone = listed(folder, "flash")[0]
    assert listed(folder, "train\nflash\n../x/flash\n")[1].id == alone.id
    assert all(c.isalnum() or c in ".-" for c in listed(folder, "train name='A/../b 数据 ../'")[0].id)


def test_a_password_is_fetched_with_and_shown_nowhere(folder):
    (entry,) = listed(folder, "https://me:secret@example.org/r.git")
    assert entry.where == "https://me:secret@example.org/r.git" and entry.source == "https://example.org/r.git"
    assert listed(folder, "https://me:other@example.org/r.git")[0].id == entry.id
    (entry,) = listed(folder, "ssh://me:secret@example.org/r.git")
    assert entry.where == "ssh://me:secret@example.org/r.git" and entry.source == "ssh://me@example.org/r.git"


@pytest.mark.parametrize(
    "line",
    [
        "https://me:secret@example.org/r.git now",
        "train HTTPS://me:secret@example.org/r.git",
        "https://me:secret@example.org/r.git 'open",
        "https://me:secret@[::1/r.git",
        "htp://me:secret@example.org/r.git",
    ],
)
def test_nor_is_it_shown_of_a_line_that_is_nonsense(folder, line):
    (entry,) = listed(folder, line)
    assert entry.error and "secret" not in repr(entry)


def test_nor_of_a_table(folder):
    (entry,) = listed(folder, '[[repository]]\nsource = "https://me:secret@example.org/r.git"\nx = 1\n', "l.toml")
    assert entry.error and "secret" not in repr(entry)
