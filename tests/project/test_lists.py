"""Which lists of requirements a project has, and for whom."""

from __future__ import annotations

from pathlib import Path

from command_line import write

from porter.run.gather import gather


def _facts(root: Path, files: dict[str, str]):
    write(root, files)
    return gather(root, sorted(files))


def test_lists_for_machines_without_gpus(tmp_path):
    names = (
        "environment_cpu.yml",
        "environment_gpu.yml",
        "a/requirements-cpu.txt",
        "a/requirements-cuda.txt",
        "cpu.yml",
        "b/env-cpu.yml",
    )
    facts = _facts(tmp_path, dict.fromkeys(names, "torch\n"))
    assert facts.accelerators.for_cpus == ("a/requirements-cpu.txt", "environment_cpu.yml")


def test_lists_that_a_package_is_installed_with(tmp_path):
    setup = 'from setuptools import setup\n\nsetup(install_requires=open("requirements.txt").read().split())\n'
    files = {
        "setup.py": setup,
        "requirements.txt": "torch\n",
        "requirements-dev.txt": "pytest\n",
        "b/requirements.txt": "torch\n",
    }
    assert _facts(tmp_path, files).own.installed == ("requirements.txt",)
    files["setup.py"] = 'print("requirements.txt")\n'
    assert _facts(tmp_path, files).own.installed == ()
