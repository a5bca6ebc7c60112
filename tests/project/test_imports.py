"""Which files of a project an import means."""

import pytest

from porter.project.imports import Import, Project, imports, imports_name

TEXTS = {
    "train.py": b"from train import Trainer\n",
    "train/__init__.py": b"from .trainer import Trainer\n",
    "train/trainer.py": b"class Trainer: ...\n",
    "tool/data.py": b"import train\n",
}
PROJECT = Project(TEXTS, lambda path: list(imports(TEXTS[path])))


def test_a_package_hides_the_module_of_its_name() -> None:
    assert PROJECT.named("train.py", "train") == ["train/__init__.py"]
    assert PROJECT.files("train.py") == {"train/__init__.py", "train/trainer.py"}
    assert "train/__init__.py" in PROJECT.files("tool/data.py")


def test_a_hidden_module_is_found_by_its_file() -> None:
    assert PROJECT.called("train.py") == ["train.py"]
    assert set(PROJECT.below("train.")) == {"train/trainer.py"}


FORMS = [
    ("import helper; torch.manual_seed(0)\n", [("helper", "")]),
    ("from helper import total; print(1)\n", [("helper", "total")]),
    ("import sys, helper; f(x)\n", [("sys", ""), ("helper", "")]),
    (
        "import sys; import helper; from pkg import (one, two); f(x)\n",
        [("sys", ""), ("helper", ""), ("pkg", "one two")],
    ),
    ("import sys  # see: import helper\n", [("sys", "")]),
    ("from pkg import \\\n    (one, two); f(x, y)\n", [("pkg", "one two")]),
    ("from pkg \\\r\n    import total\r\n", [("pkg", "total")]),
    ("import sys\rimport helper\r", [("sys", ""), ("helper", "")]),
    ("from.a import b\n", [(".a", "b")]),
    ("from..a import b\n", [("..a", "b")]),
    ("from.import x\n", [(".", "x")]),
    ("from möd import x\nimport möd\n", [("möd", "x"), ("möd", "")]),
]


@pytest.mark.parametrize("text,expected", FORMS)
def test_each_form_of_an_import_is_read(text: str, expected: list[tuple[str, str]]) -> None:
    statements = imports(text.encode())
    assert [(s.module, " ".join(name for name, _ in s.names)) for s in statements] == expected


def test_an_offset_counts_in_the_text_as_it_is() -> None:
    text = b"x = 1\r\nfrom pkg \\\r\n    import total\r\ny = 1\rimport helper\r\n"
    offsets = [text.index(b"import total"), text.index(b"import helper")]
    assert [statement.offset for statement in imports(text)] == offsets
    assert next(imports(text)) == Import("pkg", (("total", "total"),), True, offsets[0])


def test_a_name_is_imported_of_a_package() -> None:
    assert imports_name(b"from a.b import foo\n", "a/b/__init__.py", "foo")
    assert not imports_name(b"from a.c import foo  # b\n", "a/b/__init__.py", "foo")
