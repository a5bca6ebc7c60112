"""`porter env`: only what the repository calls for, with its reason, in a file that a shell can source."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import TESTED

from porter.rulebook import table
from porter.rulebook.texts import Texts

TRAIN = """
import os
import torch
from torch.utils.data import DataLoader

torch.distributed.init_process_group("nccl")
os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"
model = torch.nn.Linear(3, 3).cuda()
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for x in DataLoader(torch.zeros(9, 3), batch_size=3):
    loss = model(x.cuda()).sum()
    loss.backward()
    optimizer.step()
    print(loss.item())
    torch.cuda.empty_cache()
"""


def env(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    around = os.environ | {"PYTHONPATH": str(TESTED), "PYTHONUTF8": "1"}
    command = [sys.executable, "-m", "porter", "env", *arguments, "--no-cache"]
    return subprocess.run(command, cwd=folder, env=around, capture_output=True, text=True, encoding="utf-8")


def made(folder: Path, *arguments: str) -> str:
    done = env(folder, "--output", "-", *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def exported(text: str) -> dict[str, str]:
    return dict(re.findall(r'^export (\w+)="\$\{\w+:-(.*)\}"$', text, re.MULTILINE))


@pytest.fixture
def project(tmp_path):
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    (tmp_path / "train.py").write_text(TRAIN)
    return tmp_path


@pytest.mark.slow
def test_what_the_findings_call_for(project):
    text = made(project)
    assert exported(text) == {
        "ASCEND_GLOBAL_LOG_LEVEL": "3",
        "ASCEND_SLOG_PRINT_TO_STDOUT": "0",
        "HCCL_CONNECT_TIMEOUT": "1200",
        "HCCL_DETERMINISTIC": "true",
        "PYTORCH_NPU_ALLOC_CONF": "expandable_segments:True",
        "TASK_QUEUE_ENABLE": "2",
        "CPU_AFFINITY_CONF": "1",
    }
    assert "(train.py:15 PRT630)" in text or "(train.py:14 PRT630)" in text
    for line in text.splitlines():  # each with its reason above
        if line.startswith("export"):
            assert text.splitlines()[text.splitlines().index(line) - 1].startswith("# ")


@pytest.mark.slow
def test_a_repository_without_any_of_it(tmp_path):
    (tmp_path / "a.py").write_text("import torch\nprint(torch.ones(2).cuda())\n")
    assert set(exported(made(tmp_path))) == {"ASCEND_GLOBAL_LOG_LEVEL", "ASCEND_SLOG_PRINT_TO_STDOUT"}


@pytest.mark.slow
def test_cores_are_shared_among_cards(project):
    found = exported(made(project, "--cards", "8", "--cores", "192"))["CPU_AFFINITY_CONF"]
    assert found.startswith("1,npu0:0-23,npu1:24-47,") and found.endswith(",npu7:168-191")
    assert (
        exported(made(project, "--cards", "3", "--cores", "10"))["CPU_AFFINITY_CONF"] == "1,npu0:0-2,npu1:3-5,npu2:6-8"
    )


@pytest.mark.slow
def test_what_python_sets_is_a_conflict_too(project):
    (project / "setup_env.py").write_text(
        'import os\nimport torch\n\nos.environ["PYTORCH_CUDA_ALLOC_CONF"] = "max_split_size_mb:64"\ntorch.ones(2).cuda()\n'
    )
    text = made(project)
    assert "PYTORCH_NPU_ALLOC_CONF" not in exported(text)
    assert re.search(r"# export PYTORCH_NPU_ALLOC_CONF=.*setup_env\.py:4", text)


@pytest.mark.slow
def test_conflicts_are_respected(project):
    (project / "run.sh").write_text(
        "# numactl -C 0 is one way\nexport PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:128\ntaskset -c 0-3 python train.py\n"
    )
    text = made(project, "--cards", "8", "--cores", "192")
    assert not {"PYTORCH_NPU_ALLOC_CONF", "CPU_AFFINITY_CONF"} & set(exported(text))
    assert re.search(r"# export PYTORCH_NPU_ALLOC_CONF=.*run\.sh:2", text)
    assert re.search(r"# export CPU_AFFINITY_CONF=.*run\.sh:3", text)


@pytest.mark.slow
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_shell_sources_it(project, lang):
    done = env(project, "--cards", "2", "--cores", "8", "--lang", lang)
    assert done.returncode == 0 and "ascend_env.sh" in done.stderr
    for shell in ("bash", "sh"):
        assert subprocess.run([shell, "-n", "ascend_env.sh"], cwd=project).returncode == 0
        command = '. ./ascend_env.sh; echo "$HCCL_CONNECT_TIMEOUT $TASK_QUEUE_ENABLE $CPU_AFFINITY_CONF"'
        told = subprocess.run(
            [shell, "-euc", command],
            cwd=project,
            env={"PATH": os.environ["PATH"], "TASK_QUEUE_ENABLE": "1", "ASCEND_HOME_PATH": "/cann"},
            capture_output=True,
            text=True,
        )
        assert told.stdout == "1200 1 1,npu0:0-3,npu1:4-7\n" and not told.stderr
    before = (project / "ascend_env.sh").read_bytes()
    assert env(project, "--cards", "2", "--cores", "8", "--lang", lang).returncode == 0
    assert (project / "ascend_env.sh").read_bytes() == before  # its own file forbids nothing


@pytest.mark.slow
def test_what_it_refuses(project):
    (project / "ascend_env.sh").write_text("export MINE=1\n")
    done = env(project)
    assert done.returncode == 2 and "ascend_env.sh" in done.stderr and "--output" in done.stderr
    assert (project / "ascend_env.sh").read_text() == "export MINE=1\n"
    assert env(project, "--cards", "8").returncode == 2
    assert env(project, "--cards", "8", "--cores", "4").returncode == 2


def test_the_rows_name_what_there_is():
    texts, rules = Texts(), table.load().rules
    for setting in texts.named("exports").values():
        for reason in setting["when"]:
            code, _, why = reason.partition(":")
            if code.startswith("PRT"):
                assert code in rules and (not why or why in texts.rule(code).messages), reason
            else:
                assert code in ("always", "api", "launcher", "cores"), reason
        places = {lang: "{place}" in setting["why"][lang] for lang in ("en", "zh")}
        assert places["en"] == places["zh"] and "\n" not in setting["why"]["en"]
