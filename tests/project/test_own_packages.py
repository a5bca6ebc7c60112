"""Which packages a project holds itself."""

from __future__ import annotations

from porter.files.kinds import DOCKERFILE, kind_of
from porter.project.own_packages import packages


def test_a_folder_that_can_be_installed_holds_packages() -> None:
    files = ["text/__init__.py", "text/torchtext/__init__.py", "text/torchtext/data/__init__.py", "train.py"]
    assert packages(files) == set()
    assert packages([*files, "text/setup.py"]) == {"text/torchtext"}


def test_a_package_by_itself() -> None:
    assert packages(["third/src/apex/__init__.py"]) == {"third/apex"}
    assert packages(["own/__init__.py", "own/apex/__init__.py"]) == set()


def test_files_of_a_folder_of_dockerfiles() -> None:
    assert kind_of("dockerfiles/cuda_torch04") == kind_of("a/Dockerfiles/gpu") == DOCKERFILE
    assert kind_of("dockerfiles/build.sh") != DOCKERFILE and kind_of("docker/build") == ""
