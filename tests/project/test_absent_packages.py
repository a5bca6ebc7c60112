"""Which imported packages are built from a folder in which nothing lies."""

from __future__ import annotations

import pytest

from porter.project.absent_packages import absent
from porter.project.imports import Project, Projects, imports
from porter.project.outside import outside
from porter.project.roads import Survey

MODULES = '[submodule "fast"]\n\tpath = {path}\n\turl = {url}\n[other]\n\tpath = elsewhere\n'


def known(root, text, files=()):
    texts = {"train.py": text.encode(), **{path: b"" for path in files}}
    project = Project(texts, lambda path: list(imports(texts[path])))
    return [tuple(package) for package in absent(root, [*texts, *files], files, texts, project)]


@pytest.mark.parametrize(
    ("path", "url", "text", "found"),
    [
        ("ext/fast-ops", "https://x.org/a.git", "import fast_ops", ("fast_ops", "ext/fast-ops", True)),
        ("ext/FastOps", "https://x.org/a.git", "from fastops.nn import f", ("fastops", "ext/FastOps", True)),
        ("ext/a", "https://x.org/fast-ops.git", "import fast_ops as f", ("fast_ops", "ext/a", True)),
        ("src/ext/Fast", "../Fast.git", "from ext.Fast import f", ("ext.Fast", "src/ext/Fast", True)),
        ("src/ext/Fast", "../Other.git", "from ext import Fast", ("ext.Fast", "src/ext/Fast", True)),
        ("ext/fast-ops", "https://x.org/a.git", "import fast", None),
        ("ext/fast-ops", "https://x.org/a.git", "from .fast_ops import f", None),
        ("ext/elsewhere", "https://x.org/a.git", "import other", None),
        ("ext/json", "https://x.org/json.git", "import json", None),
        ("ext/apex", "https://x.org/apex.git", "import apex", None),  # has a row of its own
        ("../fast-ops", "https://x.org/a.git", "import fast_ops", None),
    ],
)
def test_the_submodule_of_an_import(tmp_path, path, url, text, found):
    (tmp_path / ".gitmodules").write_text(MODULES.format(path=path, url=url))
    assert known(tmp_path, text) == ([found] if found else [])


@pytest.mark.parametrize("made", ["", "folder", "file"])
def test_what_is_checked_out_is_here(tmp_path, made):
    (tmp_path / ".gitmodules").write_text(MODULES.format(path="ext/fast", url=""))
    (tmp_path / "ext").mkdir()
    if made:
        (tmp_path / "ext/fast").mkdir()
    if made == "file":
        (tmp_path / "ext/fast/setup.py").write_text("")
    assert bool(known(tmp_path, "import fast")) is (made != "file")


def test_a_module_of_the_project_is_none_of_them(tmp_path):
    (tmp_path / ".gitmodules").write_text(MODULES.format(path="ext/fast", url=""))
    assert not known(tmp_path, "import fast", ["fast.py"])


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("requirements.txt", "numpy\n-e ./ext/fast-ops\n", True),
        ("requirements.txt", "./ext/fast-ops/\r\n", True),
        ("environment.yml", "  - pip:\n    - ./ext/fast-ops\n", True),
        ("requirements.txt", "ext/fast-ops\n", False),
        ("README.md", "Run `pip install -v ext/fast-ops` first", True),
        ("README.md", "pip install fast-ops", False),
        ("README.md", "see ext/fast-ops", False),
    ],
)
def test_the_folder_that_something_installs_from(tmp_path, name, text, found):
    (tmp_path / name).write_bytes(text.encode())
    lists = [] if name == "README.md" else [name]
    texts = {"train.py": b"import fast_ops"}
    project = Project(texts, lambda path: list(imports(texts[path])))
    packages = absent(tmp_path, ["train.py", *lists], lists, texts, project)
    assert [tuple(p) for p in packages] == ([("fast_ops", "ext/fast-ops", False)] if found else [])


@pytest.mark.parametrize(("there", "found"), [("ext/fast-ops", False), ("ext/other", True)])
def test_a_folder_below_the_clone_of_the_project(tmp_path, there, found):
    (tmp_path / there).mkdir(parents=True)
    (tmp_path / there / "setup.py").write_text("")
    (tmp_path / "build.sh").write_text("git clone https://x.org/Project.git\npip install Project/ext/fast-ops -v\n")
    packages = known(tmp_path, "import fast_ops", ["build.sh"])
    assert packages == ([("fast_ops", "Project/ext/fast-ops", False)] if found else [])


@pytest.mark.parametrize(
    ("path", "text", "found"),
    [
        ("nets/dla.py", "from .fast.conv import f", True),
        ("nets/necks/up.py", "from ..fast.conv import f", True),
        ("nets/dla.py", "from . import fast", True),
        ("nets/necks/up.py", "from .fast import f", False),
        ("nets/dla.py", "from ..fast import f", False),
        ("dla.py", "from ..nets.fast import f", False),
    ],
)
def test_a_submodule_that_is_imported_from_beside_it(tmp_path, path, text, found):
    (tmp_path / ".gitmodules").write_text(MODULES.format(path="nets/fast", url=""))
    texts = {path: text.encode()}
    project = Project(texts, lambda path: list(imports(texts[path])))
    packages = absent(tmp_path, [path], [], texts, project)
    assert [tuple(p) for p in packages] == ([("fast", "nets/fast", True)] if found else [])


@pytest.mark.parametrize(
    ("added", "below", "found"),
    [
        ('"../their_code"', "from main import net", "their_code"),
        ("'%s/../../their_code' % os.path.dirname(__file__)", "from main import *", "their_code"),
        ('0, os.path.join(os.path.dirname(__file__), "..", "their_code")', "import net", "their_code"),
        ('"../lib"', "from main import net", None),  # a folder of that name is here
        ('".."', "from main import net", None),
        ('"/home/me/their_code"', "from main import net", None),  # may be the project itself, where it lay
        ("folder", "from main import net", None),
        ('"../their_code"', "import numpy, torch, json", None),  # nothing that could come from there
        ('"../their_code"', "from helper import net", None),  # it is here
        ('"../their_code"', "import apex", None),  # has a row of its own
        ('"Main"', "from net import net", None),  # the project itself, as a service clones it
        ('"own-project"', "from net import net", None),
        ('"fast_trainer"', "from net import net", None),
        ('"trainer"', "from net import net", "trainer"),
        ('"../nets"', "from net import net", None),  # holds a submodule, which is not checked out
    ],
)
def test_a_folder_beside_the_project(added, below, found):
    texts = {
        "lib/train.py": f"import sys\nimport torch\nimport theirs\nsys.path.append({added})\n{below}\n".encode(),
        "lib/helper.py": b"",
        "main/main.py": b"",
    }
    project = Project(texts, lambda path: list(imports(texts[path])))
    lists = {
        "pyproject.toml": b'[project.urls]\nHomepage = "https://github.com/someone/Fast-Trainer"\n',
        ".gitmodules": MODULES.format(path="nets/fast", url="").encode(),
    }
    known = outside([*texts, "pyproject.toml"], texts, project, "own_project", lists.__getitem__)
    assert list(known) == ([("lib/train.py", found)] if found else [])


@pytest.mark.parametrize(
    ("folder", "own"),
    [("Theirs", False), ("Depth-Nets", True), ("DepthNets", True), ("depth-nets-2", False), ("Depth_Tools", False)],
)
def test_a_clone_of_the_project_itself_is_nothing_beside_it(tmp_path, folder, own):
    (tmp_path / "pyproject.toml").write_text(
        '[project]\ndependencies = ["tools @ git+https://github.com/me/depth_tools.git"]\n'
        '[project.urls]\nHomepage = "https://github.com/me/depth-nets"\n'
    )
    files = {
        "demo.py": f'import sys\nimport torch\nsys.path.append("{folder}")\nimport net\nimport depthnets\n'.encode(),
        "depthnets/__init__.py": b"import torch\n",
    }
    survey = Survey(tmp_path, ["pyproject.toml", *files], files, Projects())
    assert survey.roads(()).outside == (() if own else (("demo.py", folder),))
