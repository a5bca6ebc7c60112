"""The hooks, run by the real pre-commit in repositories made here."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import pytest
from command_line import ROOT, TESTED, git, with_rules, write

from porter.files.kinds import kind_of

pytestmark = pytest.mark.slow

yaml = pytest.importorskip("yaml", reason="pre-commit is not installed: it is in the `dev` extra")
pytest.importorskip("pre_commit", reason="pre-commit is not installed: it is in the `dev` extra")

MANIFEST = ROOT / ".pre-commit-hooks.yaml"
AUTO = "import torch\n\ntorch.cuda.synchronize()\n"
MANUAL = "import torch\n\nc = torch.cuda.get_device_capability()\n"
CLEAN = "import os\n\nprint(os.name)\n"


@pytest.fixture
def repository(tmp_path):
    folder = tmp_path / "r"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    git(folder, "config", "user.email", "t@t")
    git(folder, "config", "user.name", "t")
    git(folder, "config", "core.autocrlf", "false")
    return folder


def configure(folder, *ids: str, args: list[str] = ()):
    """The hooks of the manifest with this interpreter's porter in place of an installed one."""
    hooks = []
    for hook in yaml.safe_load(MANIFEST.read_text()):
        if hook["id"] in ids:
            entry = hook["entry"].replace("porter", f"{sys.executable} -m porter", 1)
            hooks.append({**hook, "entry": entry, "language": "system", "args": list(args)})
    write(folder, {".pre-commit-config.yaml": json.dumps({"repos": [{"repo": "local", "hooks": hooks}]})})
    git(folder, "add", ".pre-commit-config.yaml")


def pre_commit(folder, *args: str, **more: str) -> subprocess.CompletedProcess:
    variables = {
        **{k: v for k, v in os.environ.items() if not k.startswith("GIT_")},
        "PYTHONPATH": str(TESTED),
        "PRE_COMMIT_HOME": str(folder.parent / "pre-commit"),
        "PORTER_CACHE_DIR": str(with_rules(folder.parent / "cache")),
        **more,
    }
    command = [sys.executable, "-m", "pre_commit", *(args or ("run",))]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, env=variables)


def test_the_manifest_is_valid_and_names_real_commands(tmp_path):
    done = subprocess.run([sys.executable, "-m", "pre_commit", "validate-manifest", str(MANIFEST)], capture_output=True)
    assert done.returncode == 0, done.stdout + done.stderr
    hooks = yaml.safe_load(MANIFEST.read_text())
    assert [hook["id"] for hook in hooks] == ["porter-analyze", "porter-migrate"]
    for hook in hooks:
        assert hook["require_serial"] is True and hook["language"] == "python"
        words = [*hook["entry"].split()[1:], "--help"]
        shown = subprocess.run([sys.executable, "-m", "porter", *words], cwd=TESTED, capture_output=True)
        assert shown.returncode == 0


NAMES = """train.py gui.pyw a.ipynb run.sh run.bash job.slurm job.sbatch job.pbs job.lsf a.ksh rules.mk a.mak conf/a.yaml a.yml ds.json
    a.jsonc a.json5 pyproject.toml setup.cfg a.ini a.conf app.dockerfile app.containerfile k.cu k.cuh a.cpp a.cc a.cxx a.c++ a.c a.h
    a.hpp a.hh a.hxx a.hip Makefile GNUmakefile x/makefile Pipfile Dockerfile Dockerfile.gpu docker/Containerfile-npu requirements.txt
    requirements-dev.txt dev_requirements.in constraints.txt reqs/base.txt requirements/train.in x.requirements.txt
    requirments_gpu.txt requierement.txt a/reqirements.in requests.txt required.txt measurements.txt
    notes.txt README.md a.pyc a.png sh .py .env myfile remakefile adockerfile a.txt docs/notes.in a.so list.in""".split()


@pytest.mark.parametrize("name", NAMES)
def test_the_hooks_are_given_what_porter_reads_and_nothing_else(name):
    for hook in yaml.safe_load(MANIFEST.read_text()):
        assert bool(re.search(hook["files"], name)) is bool(kind_of(name))


def test_a_launcher_for_gpus_does_not_pass(repository):
    configure(repository, "porter-analyze")
    write(
        repository,
        {"job.slurm": "#!/bin/bash\nexport CUDA_VISIBLE_DEVICES=0,1\npython train.py\n", "train.py": "import torch\n"},
    )
    git(repository, "add", ".")
    done = pre_commit(repository)
    assert done.returncode == 1 and "job.slurm:2:8: PRT801" in done.stdout, done.stdout


def test_analyze_stops_new_code_and_lets_clean_code_pass(repository):
    configure(repository, "porter-analyze")
    write(repository, {"clean.py": CLEAN, "notes.txt": "cuda"})
    git(repository, "add", ".")
    done = pre_commit(repository)
    assert done.returncode == 0 and "Passed" in done.stdout, done.stdout
    write(repository, {"train.py": AUTO})
    git(repository, "add", ".")
    done = pre_commit(repository)
    assert done.returncode == 1 and "train.py:3:1: PRT101 blocker auto" in done.stdout
    assert "clean.py" not in done.stdout


def test_migrate_edits_then_passes(repository):
    configure(repository, "porter-migrate", "porter-analyze")
    write(repository, {"train.py": AUTO, "clean.py": CLEAN})
    git(repository, "add", ".")
    first = pre_commit(repository, PORTER_STATE_DIR=os.devnull)  # as in CI: there is no place for what undoing needs
    assert first.returncode == 1 and "files were modified by this hook" in first.stdout, first.stdout
    assert "torch.npu.synchronize()" in (repository / "train.py").read_text()
    assert (repository / "clean.py").read_text() == CLEAN
    assert not (repository / ".porter").exists(), "the index is what the edits are taken back from"
    git(repository, "add", ".")
    second = pre_commit(repository)
    assert second.returncode == 0, second.stdout + second.stderr


def test_what_needs_a_person_stays_a_finding_until_suppressed_or_in_the_baseline(repository):
    configure(repository, "porter-migrate", "porter-analyze")
    write(repository, {"train.py": MANUAL})
    git(repository, "add", ".")
    done = pre_commit(repository)
    assert done.returncode == 1 and "manual" in done.stdout and (repository / "train.py").read_text() == MANUAL
    code = next(word for word in done.stdout.split() if word.startswith("PRT"))
    write(repository, {"train.py": MANUAL.rstrip() + f"  # porter: ignore[{code}] shown only\n"})
    git(repository, "add", ".")
    assert pre_commit(repository).returncode == 0

    write(repository, {"train.py": MANUAL})
    environment = {**os.environ, "PYTHONPATH": str(TESTED)}
    porter = [sys.executable, "-m", "porter", "analyze", ".", "-q", "--write-baseline", "base.json"]
    subprocess.run(porter, cwd=repository, check=True, capture_output=True, env=environment)
    configure(repository, "porter-migrate", "porter-analyze")
    write(repository, {"porter.toml": 'baseline = "base.json"\n'})
    git(repository, "add", ".")
    done = pre_commit(repository)
    assert done.returncode == 0, done.stdout


def test_partially_staged_file(repository):
    """What is staged is judged and edited; what is not staged comes back as it was."""
    configure(repository, "porter-migrate", "porter-analyze")
    body = "import torch\n\n" + "".join(f"a{n} = {n}\n" for n in range(20))
    write(repository, {"train.py": body})
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "x", "--no-verify")

    unstaged = body + "torch.cuda.synchronize()\n"
    write(repository, {"train.py": body.replace("a0 = 0", "a0 = 1"), "other.py": CLEAN})
    git(repository, "add", ".")
    write(repository, {"train.py": unstaged.replace("a0 = 0", "a0 = 1")})
    done = pre_commit(repository)
    assert done.returncode == 0, "the line that fails is not staged: " + done.stdout
    assert (repository / "train.py").read_text() == unstaged.replace("a0 = 0", "a0 = 1")

    staged = body.replace("a0 = 0", "torch.cuda.synchronize()")
    write(repository, {"train.py": staged})
    git(repository, "add", ".")
    write(repository, {"train.py": staged + "mine = 1\n"})
    done = pre_commit(repository)
    got = (repository / "train.py").read_text()
    assert done.returncode == 1
    assert got.endswith("a19 = 19\nmine = 1\n"), "what was not staged is still there"
    assert "torch.npu.synchronize()" in got and "torch.cuda" not in got
    assert git(repository, "show", ":train.py") == staged, "porter stages nothing"


def test_edit_that_collides_with_what_is_not_staged(repository):
    configure(repository, "porter-migrate")
    write(repository, {"train.py": AUTO})
    git(repository, "add", ".")
    mine = AUTO.replace("synchronize()", "synchronize()  # mine")
    write(repository, {"train.py": mine})
    done = pre_commit(repository)
    assert done.returncode == 1
    assert (repository / "train.py").read_text() == mine, (
        "pre-commit takes the hook's edit back, nothing of ours is lost"
    )


def test_one_file_and_the_whole_repository_agree(repository):
    """The hook gets the staged files only; what they depend on elsewhere counts all the same."""
    configure(repository, "porter-analyze")
    write(
        repository,
        {
            "batch.py": "class Batch:\n    def cuda(self):\n        return self\n",
            "train.py": "import torch\n\n\ndef f(x):\n    torch.zeros(1)\n    return x.cuda()\n",
        },
    )
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "x", "--no-verify")
    everything = pre_commit(repository, "run", "--all-files").stdout
    one = pre_commit(repository, "run", "--files", "train.py").stdout
    lines = [line for line in one.splitlines() if line.startswith("train.py:")]
    assert (
        lines == [line for line in everything.splitlines() if line.startswith("train.py:")] and " review " in lines[0]
    )


def test_excluded_files_are_left_out_although_pre_commit_names_them(repository):
    configure(repository, "porter-analyze")
    write(repository, {"third_party/x.py": AUTO, "gen/y.py": AUTO, "porter.toml": 'exclude = ["gen/"]\n'})
    git(repository, "add", "-f", ".")
    done = pre_commit(repository)
    assert done.returncode == 0, done.stdout
