"""Which files of a project an import means."""

from porter.project.imports import Project, imports

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
