"""Who imports the packages that a project asks for."""

from __future__ import annotations

import pytest

from porter.project.imports import Project, imports
from porter.project.package_users import lists_of, numpys
from porter.python.trees import parse


def known(root, files, texts):
    project = Project(texts, lambda path: list(imports(texts[path])))
    return lists_of(root, files, texts, project, parse, (), lambda package, path: False, loose=False)


FORMS = [
    "import fairscale",
    "  import os as system, fairscale.nn",
    "from fairscale.nn import Pipe",
    "import a , b.c,fairscale",
]


@pytest.mark.parametrize("form", FORMS)
def test_an_import_is_seen(tmp_path, form):
    (tmp_path / "requirements.txt").write_text("fairscale\n")
    lists = known(tmp_path, ["a.py", "requirements.txt"], {"a.py": form.encode()})
    assert ("fairscale", "", "a.py") in lists.imported and "fairscale" not in lists.unimported


def test_a_long_line_of_imports_is_read_in_one_way(tmp_path):
    """Where commas and blanks can be shared out in several ways, the time doubles with each name."""
    (tmp_path / "requirements.txt").write_text("fairscale\n")
    text = "import " + ", ".join(f"module{n}" for n in range(5000)) + "\n# fairscale\n"
    lists = known(tmp_path, ["a.py", "requirements.txt"], {"a.py": text.encode()})
    assert not lists.imported and "fairscale" in lists.unimported


PARTS = [
    ("import fairscale.nn.model_parallel.initialize as init\nfrom fairscale.nn import model_parallel as parts", False),
    ("from fairscale.nn.model_parallel.layers import (\n    ParallelEmbedding,\n    RowParallelLinear,\n)", False),
    ("from fairscale.nn.model_parallel import initialize\nfrom fairscale.nn import Pipe", True),
    ("from fairscale.nn.model_parallel.random import get_cuda_rng_tracker", True),
    ("from fairscale.nn.model_parallel import get_cuda_rng_tracker", True),
    ("import fairscale.nn.model_parallel", True),  # gives all of fairscale.nn
    ("from fairscale.nn.checkpoint import checkpoint_wrapper", True),
]


@pytest.mark.parametrize(("text", "uses"), PARTS)
def test_parts_that_run_as_they_are_use_nothing_that_does_not(tmp_path, text, uses):
    (tmp_path / "requirements.txt").write_text("fairscale\n")
    lists = known(tmp_path, ["a.py", "requirements.txt"], {"a.py": text.encode()})
    assert (("fairscale", "", "a.py") in lists.imported) is uses and ("fairscale" not in lists.unimported) is uses


def test_a_list_is_for_the_programs_of_its_folder(tmp_path):
    lists = ("requirements.txt", "one/requirements.txt", "two/requirements.txt", "three/requirements.txt")
    texts = {"one/src/a.py": b"import xformers\n", "two/b.py": b"import torch\n"}
    for path in lists:
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text("xformers\n")
    found = known(tmp_path, [*lists, *texts], texts)
    assert [found.users("xformers", path) for path in lists] == [
        "one/src/a.py",
        "one/src/a.py",
        "",
        "one/src/a.py",
    ]


@pytest.mark.parametrize(
    ("text", "severity"),
    [
        ("from fairscale.nn.checkpoint import checkpoint_wrapper\n", "wrong"),
        ("from fairscale.nn.checkpoint import checkpoint_wrapper\nfrom fairscale.nn import Pipe\n", None),
        ("import fairscale\n", None),
        ("from fairscale.nn.model_parallel.initialize import initialize_model_parallel\n", "note"),
    ],
)
def test_a_package_weighs_what_its_imported_parts_weigh(tmp_path, text, severity):
    """One that installs anywhere: None where the package as a whole is imported, which weighs its own."""
    (tmp_path / "requirements.txt").write_text("fairscale\n")
    lists = known(tmp_path, ["a.py", "requirements.txt"], {"a.py": text.encode()})
    assert dict(lists.gravest).get("fairscale") == severity


PYTHONS = [
    ("environment.yml", "dependencies:\n  - python=3.8\n  - numpy\n", True),
    ("environment.yml", "dependencies:\n  - python=3.8.5\n  - numpy>=1.20\n", True),
    ("environment.yml", "dependencies:\n  - python=3.8\n", True),
    ("environment.yml", "dependencies:\n  - python=3.7\n  - numpy\n", False),  # older than any that the target runs on
    ("environment.yml", "dependencies:\n  - python=3.9\n  - numpy\n", False),  # has numpy 2.0
    ("environment.yml", "dependencies:\n  - python>=3.8\n  - numpy\n", False),
    ("environment.yml", "dependencies:\n  - python=3.10\n  - numpy=1.24\n", True),
    ("requirements.txt", "numpy\n", False),
]


@pytest.mark.parametrize("name,text,is_left_out", PYTHONS)
def test_a_pinned_python_leaves_out_what_does_not_run_on_it(tmp_path, name, text, is_left_out):
    (tmp_path / name).write_text(text)
    lists = known(tmp_path, ["a.py", name], {"a.py": b"import numpy\n"})
    assert lists.leaves_out("2.0.0", python=(3, 8)) is is_left_out


@pytest.mark.parametrize("name,is_left_out", [("environment.yml", True), ("requirements.txt", False)])
def test_a_package_is_installed_into_the_environment_of_conda(tmp_path, name, is_left_out):
    lists = {
        "setup.py": "setup(install_requires=[\n    'numpy',\n])\n",
        "environment.yml": "- python=3.8\n- numpy=1.19\n",
    }
    lists["requirements.txt"] = "numpy==1.19\n"
    for path in ("setup.py", name):
        (tmp_path / path).write_text(lists[path])
    known_lists = known(tmp_path, ["a.py", "setup.py", name], {"a.py": b"import numpy\n"})
    assert known_lists.leaves_out("2.0.0", python=(3, 8)) is is_left_out


def test_a_python_that_the_target_outgrows_holds_nothing_back(tmp_path):
    (tmp_path / "environment.yml").write_text("dependencies:\n  - python=3.8\n  - numpy\n")
    lists = known(tmp_path, ["a.py", "environment.yml"], {"a.py": b"import numpy\n"})
    assert not lists.leaves_out("2.0.0", python=(3, 9))


TABLES = [
    ("Pipfile", '[packages]\nnumpy = "^1.24"\n', True),
    ("Pipfile", '[packages]\nnumpy = "*"\n', False),
    ("pyproject.toml", '[tool.poetry.dependencies]\nnumpy = "^1.24"\n', True),
    ("pyproject.toml", '[tool.poetry.dependencies]\nnumpy = "1.24.4"\n', True),
    ("pyproject.toml", '[tool.poetry.dependencies]\nnumpy = ">=1.24"\n', False),
    ("pyproject.toml", '[tool.poetry.dependencies]\nnumpy = {version = "^1.24", python = ">=3.9"}\n', True),
    ("requirements.txt", "numpy>=1.24,<2\n", True),
    ("requirements.txt", "numpy==2.1.0\n", False),
]


@pytest.mark.parametrize("name,text,is_left_out", TABLES)
def test_the_numpy_of_a_table_is_read(tmp_path, name, text, is_left_out):
    (tmp_path / name).write_text(text)
    lists = known(tmp_path, ["a.py", name], {"a.py": b"import numpy\n"})
    assert lists.leaves_out("2.0.0", python=(3, 9)) is is_left_out


def test_versions_are_kept_as_they_are_written():
    assert numpys({"Pipfile": b'numpy = "^1.24"\n'}) == (("^1.24", "", ""),)
