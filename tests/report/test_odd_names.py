"""Names that hurt: bytes that are no UTF-8, line ends, markup, commands of a terminal. Every output is whole with them."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
from command_line import Porter, git, process
from files_world import POSIX
from test_report_formats import sarif_schema  # noqa: F401

from porter.report import FORMATS, SHAPES

pytestmark = [POSIX, pytest.mark.skipif(sys.platform == "darwin", reason="its file system refuses such names")]

PYTHON = b"import torch\ntorch.cuda.synchronize()\ntorch.cuda.nvtx.mark('x')\n"
SHELL = b"export CUDA_VISIBLE_DEVICES=0\npython train.py --device cuda\n"
NAMES = {
    b"caf\xe9.py": PYTHON,
    b"\xff\xfe.sh": SHELL,
    b"d\xe9p\xf4t/__init__.py": PYTHON,
    b"new\nline.py": PYTHON,
    b"cr\rlf\r\n::error::x.py": PYTHON,
    b"a'b\"c.py": PYTHON,
    b"</script><script>alert(1)<script>.py": PYTHON,
    b"</script><img src=x onerror=alert(1)>.py".replace(b"/", b"\xe2\x88\x95"): PYTHON,
    b"pipe|`tick`|<b>.py": PYTHON,
    b"\x1b[31mred\x1b]0;title\x07.py": PYTHON,
    b"-rf.py": PYTHON,
    b"--inplace.py": PYTHON,
    b"=cmd()|'x.py": PYTHON,
    b"@SUM(1).py": PYTHON,
    b"\t+tab.py": PYTHON,
    b"\xe2\x80\xaegnp.py": PYTHON,
    b"50%25,a:b.py": PYTHON,
    b"[link](http:x).py": PYTHON,
    b"{braces} {0}.py": PYTHON,
    b"back\\slash.py": PYTHON,
    b" leading and trailing .py": PYTHON,
    b"l" * 240 + b".py": PYTHON,
    b"\xed\xb3\xa9.py": PYTHON,  # a half of a surrogate, as UTF-8 would have it
    b"\xe6\x97\xa5\xe6\x9c\xac.yaml": b"device: cuda:0\nbackend: nccl\n",
    b"Dockerfile.\xe9": b"FROM nvidia/cuda:12.1.0-base\nRUN pip install torch==2.1\n",
    b"requirements-\xe9.txt": b"torch==2.1.0+cu118\n",
    b"\xe9.cu": b"__global__ void k(int *a) {}\nvoid f() { k<<<1, 1>>>(0); }\n",
    b"old\xe9.py": b"import torch\nprint 'x'\n",  # each has a finding of porter's own, too
    b"enc\xe9.py": b"import torch\ns = '\xff'\ntorch.cuda.synchronize()\n",
    b"big\xe9.json": b'{"device": "cuda"' + b" " * 1_100_000 + b"}",
}
NAMES = {name.replace(b"</script><script>", b"<\xe2\x88\x95script><script>"): data for name, data in NAMES.items()}


def tree(folder: Path) -> Path:
    for name, data in NAMES.items():
        file = os.path.join(os.fsencode(folder), name)
        os.makedirs(os.path.dirname(file), exist_ok=True)
        with open(file, "wb") as stream:
            stream.write(data)
    return folder


@pytest.fixture
def porter(tmp_path, monkeypatch) -> Porter:
    (tmp_path / "r").mkdir()
    return Porter(monkeypatch, tree(tmp_path / "r"))


def quiet(text: str) -> bool:
    """Nothing that a terminal would obey or an editor hide."""
    return all(c in "\t\n" or c.isprintable() for c in text)


def whole(name: str, out: bytes, schema) -> None:
    text = out.decode("utf-8")
    paths = sorted(os.fsdecode(path) for path in NAMES)
    if name in ("json", "sarif"):
        document = json.loads(text)
        assert quiet(text)
        if name == "json":
            assert {f["path"] for f in document["findings"]} == set(paths)
        else:
            assert [error.message for error in schema.iter_errors(document)] == []
            uris = {
                r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for r in document["runs"][0]["results"]
            }
            assert len(uris) == len(paths) and all(re.fullmatch(r"[\w%./~-]+", uri, re.ASCII) for uri in uris)
    elif name == "csv":
        rows = list(csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline="")))
        assert {len(row) for row in rows} == {len(rows[0])} and len({row[0] for row in rows[1:]}) == len(paths)
        assert not [row[0] for row in rows if row[0].startswith(("=", "+", "-", "@", "\t"))]
        assert quiet(text.removeprefix("\ufeff"))
    elif name == "html":
        page = Page()
        page.feed(text)
        assert page.scripts == 3 and not page.images and quiet(text)
        assert {"caf%5Cxe9.py", "%5Cxff%5Cxfe.sh"} <= page.files, page.files
    elif name == "github":
        assert quiet(text) and all(
            re.match(r"::(?:(?:error|warning|notice) file=[^,:]+,line=|notice title=porter::)", r)
            for r in text.splitlines()
        )
    else:
        assert quiet(text) and re.search(r"caf\\(?:x|udc)e9", text)


class Page(HTMLParser):
    def __init__(self):
        super().__init__()
        self.scripts, self.images, self.files = 0, [], set()

    def handle_starttag(self, tag, attrs):
        self.scripts += tag == "script"
        given = dict(attrs)
        self.images += [tag] if tag == "img" or any(key.startswith("on") for key in given) else []
        if (given.get("href") or "").startswith("#findings?file="):
            self.files.add(given["href"].partition("=")[2])


@pytest.mark.slow
@pytest.mark.parametrize("name", dict.fromkeys([*FORMATS, *SHAPES]))
def test_every_format_is_whole(porter, tmp_path, sarif_schema, name):  # noqa: F811
    every = ["--all"] if name == "text" else []  # one screen names a few files
    answer = porter("analyze", ".", "--format", name, *every)
    assert answer.code == 1 and quiet(answer.err), answer.err
    whole(name, answer.out, sarif_schema)
    assert porter("analyze", ".", "--format", name, *every).out == answer.out, "from the cache"
    if name not in (*SHAPES, "github"):
        file = tmp_path / f"r.{'md' if name == 'markdown' else name}"
        assert porter("analyze", ".", "--output", str(file)).code == 1
        assert file.read_bytes() == answer.out
        porter("analyze", ".", "--output", str(tmp_path / "r.json"))
        assert porter("report", str(tmp_path / "r.json"), "--format", name).out == answer.out
    if name in ("text", "markdown", "html"):
        whole(name, porter("analyze", ".", "--format", name, "--lang", "zh", *every).out, sarif_schema)


@pytest.mark.slow
def test_a_terminal_gets_nothing_raw(porter):
    for args in (["analyze", ".", "--verbose"], ["migrate", ".", "--check"], ["advise", "."], ["env", "."]):
        answer = porter(*args)
        assert answer.code in (0, 1) and quiet(answer.err) and quiet(answer.text), args
    coloured = porter("analyze", ".", "--all", terminal=True).text
    assert quiet(re.sub(r"\x1b\[[\d;]*m", "", coloured)) and "title" in coloured and "\x1b]" not in coloured


@pytest.mark.slow
@pytest.mark.parametrize("locale", ["C", "C.UTF-8", "POSIX"])
def test_in_any_locale(porter, tmp_path, locale):
    """The same bytes, where Python would have names in ASCII."""
    want = porter("analyze", ".", "--format", "html").out
    done = process(
        "analyze", ".", "--format", "html", cwd=porter.folder, LC_ALL=locale, PYTHONUTF8="0", PYTHONCOERCECLOCALE="0"
    )
    assert done.returncode == 1 and not done.stderr
    if locale == "C.UTF-8":
        assert done.stdout == want


@pytest.mark.slow
def test_a_baseline_knows_them_again(porter, tmp_path):
    file = str(tmp_path / "b.json")
    assert porter("analyze", ".", "--write-baseline", file).code == 0
    answer = porter("analyze", ".", "--baseline", file)
    assert answer.code == 0, answer.text
    one, two = tmp_path / "one.json", tmp_path / "two.json"
    porter("analyze", ".", "-o", str(one))
    os.unlink(os.path.join(os.fsencode(porter.folder), b"caf\xe9.py"))
    porter("analyze", ".", "-o", str(two))
    for form in ("text", "json"):
        answer = porter("diff", str(one), str(two), "--format", form)
        assert answer.code == 0 and quiet(answer.text) and "caf" in answer.text


def ported(folder: Path) -> dict[bytes, bytes]:
    found = {}
    for name in NAMES:
        with open(os.path.join(os.fsencode(folder), name), "rb") as stream:
            found[name] = stream.read()
    return found


@pytest.mark.slow
def test_written_copied_and_taken_back(porter, tmp_path):
    answer = porter("migrate", ".", "--out", str(tmp_path / "o"))
    assert answer.code == 0 and quiet(answer.err), answer.err
    assert porter("migrate", ".", "--inplace").code == 0
    written = ported(porter.folder)
    assert written == ported(tmp_path / "o")
    assert all(b"torch.npu.synchronize()" in written[n] for n, data in NAMES.items() if data == PYTHON)
    answer = porter("undo")
    assert answer.code == 0 and quiet(answer.err + answer.text) and ported(porter.folder) == NAMES
    assert porter("migrate", ".", "--inplace", "--annotate", "--unsafe").code == 0
    assert porter("undo").code == 0 and ported(porter.folder) == NAMES


@pytest.mark.slow
def test_the_diff_is_one_that_git_applies(porter, tmp_path):
    git(porter.folder, "init", "-q")
    diff = porter("migrate", ".", "--unsafe").out
    (tmp_path / "p.diff").write_bytes(diff)
    git(porter.folder, "apply", str(tmp_path / "p.diff"))
    written = ported(porter.folder)
    assert all(b"torch.npu.synchronize()" in written[n] for n, data in NAMES.items() if data == PYTHON)


@pytest.mark.slow
def test_named_outright(porter):
    for name in NAMES:
        shown = "./" + os.fsdecode(name)
        assert porter("analyze", shown, "--format", "json").code in (0, 1)
        missing = porter("analyze", shown + "x")
        assert missing.code == 2 and quiet(missing.err) and missing.err.count("\n") == 1
