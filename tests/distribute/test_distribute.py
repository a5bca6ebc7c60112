"""`porter migrate --distribute`: what is written, what is refused and why, and that all of it can be taken back."""

from __future__ import annotations

import ast
import os
import subprocess
from pathlib import Path

import pytest
from command_line import write
from distribute_world import HEAD, PLAIN, Project

from porter.distribute.own_files import launcher, launcher_of
from porter.finding import Change

pytestmark = pytest.mark.slow  # each runs the command on a project

NAMES = ["porter_distributed.py", "train_distributed.sh"]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    return Project(monkeypatch, tmp_path / "r")


@pytest.mark.slow
def test_a_script_of_one_card(place: Project) -> None:
    text = place.written(PLAIN)
    for line in (
        "import porter_distributed",
        "    porter_distributed.epoch(epoch)\n    for number",
        "total += porter_distributed.mean(loss.item())",
        "seen += porter_distributed.total(y.size(0))",
        "{porter_distributed.mean(loss.item()):.4f}",
        "loader = porter_distributed.loader(data, batch_size=8, shuffle=True)  # all of it",
        "    model = model.npu()\n    model = porter_distributed.parallel(model)\n",
        '    if porter_distributed.is_first():\n        torch.save(model.state_dict(), "model.pt")',
        "    porter_distributed.start()\n    main()",
    ):
        assert line in text
    assert 'BACKEND = "npu", "hccl"' in (place.folder / NAMES[0]).read_text()
    assert (place.folder / NAMES[1]).read_bytes() == launcher("train.py")


@pytest.mark.slow
def test_a_launcher_starts_its_script_whatever_that_is_called(tmp_path: Path) -> None:
    name = "my $(touch ran) run's.py"
    torchrun = tmp_path / "bin" / "torchrun"
    write(tmp_path, {"bin/torchrun": '#!/bin/sh\nprintf "%s\\n" "$@"\n', launcher_of(name): launcher(name).decode()})
    torchrun.chmod(0o755)
    command = ["sh", str(tmp_path / launcher_of(name)), "--epochs", "2"]
    path = os.pathsep.join([str(torchrun.parent), os.environ["PATH"]])
    done = subprocess.run(command, cwd=tmp_path, env={**os.environ, "PATH": path}, capture_output=True, text=True)
    assert done.stdout.splitlines()[-3:] == [str(tmp_path / name), "--epochs", "2"], done.stderr
    assert not (tmp_path / "ran").exists()


def test_a_script_with_data_parallel(place: Project) -> None:
    wrapped = "model = model.cuda()\n    if torch.cuda.device_count() > 1:\n        model = torch.nn.DataParallel(model, device_ids=[0, 1])"
    text = place.written(PLAIN.replace("model = model.cuda()", wrapped))
    assert "    if porter_distributed.ranks() > 1:\n        model = porter_distributed.data_parallel(model)\n" in text
    assert "porter_distributed.parallel(" not in text


def test_batches_that_are_asked_for_one_by_one(place: Project) -> None:
    text = PLAIN.replace(
        "    for number, (x, y) in enumerate(loader):\n",
        "    batches = iter(loader)\n    for number in range(4):\n        x, y = next(batches)\n",
    )
    text = place.written(text)
    assert "    porter_distributed.epoch(epoch)\n    batches = iter(loader)\n" in text
    assert "seen += porter_distributed.total(y.size(0))" in text and "loader = porter_distributed.loader(data" in text


def test_a_second_model_in_data_parallel(place: Project) -> None:
    """It is not trained, and would take all devices in each process."""
    other = "    judge = torch.nn.DataParallel(torch.nn.Linear(2, 2), [0, 1])\n    optimizer ="
    text = place.written(PLAIN.replace("    optimizer =", other, 1))
    assert "judge = porter_distributed.data_parallel(torch.nn.Linear(2, 2))\n" in text


@pytest.mark.slow
def test_data_parallel_is_left_for_nobody(place: Project) -> None:
    place.write(PLAIN.replace("model = model.cuda()", "model = torch.nn.DataParallel(model).cuda()"))
    assert (
        "Left: 1 place where it stops or breaks, 1 where it gets slow." in place.porter("migrate", ".", "--unsafe").err
    )
    assert "Left: 1 place where it gets slow." in place.distribute("--unsafe").err


def test_nothing_is_written_unless_review_is_asked_for(place: Project) -> None:
    place.write()
    done = place.distribute("--inplace", "--allow-dirty")
    text = place.text
    assert "porter_distributed" not in text and ".npu()" in text
    assert not any(place.has(name) for name in NAMES)
    assert "--unsafe" in done.err


def test_it_is_taken_back_as_one(place: Project) -> None:
    place.written(PLAIN)
    assert place.porter("undo").code == 0
    assert place.text == PLAIN
    assert not any(place.has(name) for name in NAMES)


@pytest.mark.slow
def test_a_second_run_changes_nothing(place: Project) -> None:
    text = place.written(PLAIN)
    done = place.distribute("--unsafe", "--inplace", "--allow-dirty")
    assert done.code == 0 and "train.py:4: distributed already" in done.err
    assert place.text == text


@pytest.mark.slow
def test_the_diff_is_what_is_written(place: Project) -> None:
    place.write()
    shown = place.distribute("--unsafe").text
    added = [line[1:] for line in shown.splitlines() if line.startswith("+") and not line.startswith("+++")]
    place.distribute("--unsafe", "--inplace", "--allow-dirty")
    lines = place.text.splitlines()
    assert added == [line for line in lines if line not in PLAIN.splitlines()]


def test_a_copy_has_all_of_it(place: Project) -> None:
    place.write()
    assert place.distribute("--unsafe", "--out", "../new").code == 0
    assert {*NAMES, "train.py"} <= {path.name for path in (place.folder.parent / "new").iterdir()}
    assert place.text == PLAIN


def test_the_loader_of_another_file(place: Project) -> None:
    data = HEAD + "def loaders(data, size):\n    return DataLoader(data, batch_size=size), DataLoader(data)\n"
    text = PLAIN.replace("loader = DataLoader(data, batch_size=8, shuffle=True)", "loader, held = loaders(data, 8)")
    place.written(text.replace("import torch\n", "import torch\nfrom data import loaders\n", 1), data=data)
    assert (
        "return porter_distributed.loader(data, batch_size=size), DataLoader(data)"
        in (place.folder / "data.py").read_text()
    )


def test_a_function_that_makes_all_loaders(place: Project) -> None:
    text = PLAIN.replace(
        "def main():",
        "def made(data, mixed):\n    return DataLoader(data, batch_size=8, shuffle=mixed)\n\n\ndef main():",
    )
    text = text.replace(
        "loader = DataLoader(data, batch_size=8, shuffle=True)  # all of it",
        "loader = made(data, True)\n    held = made(data, False)",
    )
    text = place.written(text)
    assert (
        "loader = made(data, True)\n    loader = porter_distributed.share(loader)\n    held = made(data, False)" in text
    )


@pytest.mark.slow
def test_devices_that_are_named_by_number(place: Project) -> None:
    text = PLAIN.replace(
        "    model = model.cuda()\n",
        '    import os\n    os.environ["CUDA_VISIBLE_DEVICES"] = "0"\n    gpu = 0\n    torch.cuda.set_device("cuda:{}".format(gpu))\n'
        '    device = torch.device(f"cuda:{gpu}" if torch.cuda.is_available() else "cpu")\n    model = model.to(device)\n    model.cuda(0)\n',
    )
    text = place.written(text)
    assert "VISIBLE" not in text and "set_device(porter_distributed.local_rank())" in text
    assert 'torch.device("npu" if' in text and "    model.npu()\n    model = porter_distributed.parallel(model)" in text


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("model.to(0)", 'model.to("npu")'),
        ("model.to(0).to(device=args.gpu)", 'model.to("npu").to(device="npu")'),
        ("model.to(gpu_ids[0], torch.float32)", 'model.to("npu", torch.float32)'),
        ("torch.zeros(2, device=0)", 'torch.zeros(2, device="npu")'),
        ("torch.device(rank)", 'torch.device("npu")'),
        ("model.to(kinds[0])", "model.to(kinds[0])"),
        ("model.to(rank_of_rows)", "model.to(rank_of_rows)"),
        ("pipeline(2, device=0)", "pipeline(2, device=0)"),
    ],
)
def test_a_bare_index_is_the_device_of_a_rank(before: str, after: str, place: Project) -> None:
    text = place.written(PLAIN.replace("    model = model.cuda()\n", f"    model = model.cuda()\n    it = {before}\n"))
    assert f"    it = {after}\n" in text


def test_a_collective_is_not_put_where_one_rank_may_not_come(place: Project) -> None:
    text = PLAIN.replace(
        "        seen += y.size(0)\n",
        "        if (y > 0).any():\n            seen += y.size(0)\n            print(loss.item())\n",
    )
    text = place.written(text)
    assert "            seen += y.size(0)\n            print(loss.item())\n" in text


def test_files_that_are_written_and_fetched(place: Project) -> None:
    text = PLAIN.replace(
        "    data = [",
        '    log = open("log.txt", "w")\n    data = torchvision.datasets.MNIST(\n        "data", download=True)\n    data = [',
    ).replace("import torch\n", "import torch\nimport torchvision\n", 1)
    text = place.written(text)
    assert 'open(porter_distributed.path("log.txt"), "w")' in text
    assert (
        '    with porter_distributed.first_alone():\n        data = torchvision.datasets.MNIST(\n            "data", download=True)\n'
        in text
    )


def test_what_is_loaded_behind_the_training_is_waited_for(place: Project) -> None:
    behind = '    model.load_state_dict(torch.load("best.pt"))\n\n\ndef main():\n    import os\n    os.mkdir("out")\n'
    text = place.written(PLAIN.replace("\n\ndef main():\n", behind))
    assert '    porter_distributed.wait()\n    model.load_state_dict(torch.load("best.pt"' in text
    assert '    porter_distributed.makedirs("out")\n' in text


REFUSED = {
    "no optimiser": (PLAIN.replace("optimizer.step()", "pass"), 1, "no step of an optimiser"),
    "no loader": (
        PLAIN.replace("DataLoader(data, batch_size=8, shuffle=True)", "list(data)"),
        8,
        "not made by torch.utils.data.DataLoader",
    ),
    "no loop": (
        PLAIN.replace("enumerate(loader)", "range(9)").replace("(x, y)", "x"),
        12,
        "no loop over a torch.utils.data.DataLoader",
    ),
    "sampler": (PLAIN.replace("shuffle=True", "sampler=draw"), 21, "an order of its own (sampler=draw)"),
    "batch sampler": (PLAIN.replace("batch_size=8, shuffle=True", "batch_sampler=draw"), 21, "batch_sampler=draw"),
    "sum": (PLAIN.replace("y.cuda())", 'y.cuda(), reduction="sum")'), 9, "a sum over the batch"),
    "method": (PLAIN.replace("model(x.cuda())", "model.score(x.cuda())"), 9, "the step calls model.score"),
    "one line": (PLAIN.replace("    model = model.cuda()", "    model = model.cuda(); y = 0"), 23, "a line of its own"),
    "subclass": (
        PLAIN.replace("def train(", "class Mine(torch.nn.DataParallel):\n    pass\n\n\ndef train(", 1),
        5,
        "a class of its own",
    ),
    "package": (PLAIN.replace("import torch\n", "import torch\nfrom . import other\n", 1), 1, "relative"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_says_why_and_where(name: str, place: Project) -> None:
    text, line, why = REFUSED[name]
    ast.parse(text)
    done = place.inplace(text)
    assert done.code == 2 and done.err.startswith(f"porter: train.py:{line}: not distributed: ")
    assert why in done.err and len(done.err.splitlines()) == 1
    assert place.text == text
    assert not any(place.has(each) for each in NAMES)
    assert "train.py:" in place.distribute("--lang", "zh").err


def test_what_would_not_parse_is_not_written(place: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("porter.commands.distribute.composed", lambda *_: (Change(0, 0, b"(\n"),))
    done = place.inplace(PLAIN)
    assert done.code == 2 and "the edits would not parse" in done.err
    assert place.text == PLAIN


def test_what_is_distributed_by_hand_is_left_alone(place: Project) -> None:
    text = PLAIN.replace("    data = [", '    torch.distributed.init_process_group("nccl")\n    data = [')
    done = place.inplace(text)
    assert done.code == 0 and "train.py:20: distributed already (init_process_group)" in done.err
    assert "porter_distributed" not in place.text


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("mesh = torch.distributed.device_mesh.init_device_mesh('npu', (2,))", "init_device_mesh"),
        ("from torch.distributed.fsdp import fully_shard; fully_shard(torch.nn.Linear(2, 2))", "fully_shard"),
        ("from torch.distributed.fsdp import FullyShardedDataParallel as F; F(model)", "FullyShardedDataParallel"),
        ("from torch.nn.parallel import DistributedDataParallel as DDP; DDP(model)", "DistributedDataParallel"),
    ],
)
def test_what_starts_a_process_group_by_itself_is_left_alone(place: Project, line: str, name: str) -> None:
    done = place.inplace(PLAIN.replace("    data = [", f"    {line}\n    data = ["))
    assert done.code == 0 and f"train.py:20: distributed already ({name})" in done.err
    assert "porter_distributed" not in place.text


def test_a_trainer_needs_the_launcher_alone(place: Project) -> None:
    text = "from transformers import Trainer\n\ntrainer = Trainer(model=None)\ntrainer.train()\n"
    done = place.inplace(text)
    assert done.code == 0 and "joins the process group by itself" in done.err
    assert place.has(NAMES[1]) and not place.has(NAMES[0])


def test_lightning_starts_its_own(place: Project) -> None:
    text = "from lightning import Trainer\n\ntrainer = Trainer()\ntrainer.fit(None)\n"
    place.write(text)
    done = place.distribute("--unsafe")
    assert done.code == 2 and "starts its ranks itself" in done.err


def test_a_file_of_that_name_is_not_overwritten(place: Project) -> None:
    place.write(**{NAMES[0][:-3]: "mine = 1\n"})
    done = place.distribute("--unsafe", "--inplace", "--allow-dirty")
    assert done.code == 2 and f"{NAMES[0]}: a file of this name is there already" in done.err
    assert place.text == PLAIN


@pytest.mark.parametrize(
    "words", [("--distribute", "absent.py"), ("--distribute", "."), ("--distribute", "train.py", "--style", "shim")]
)
def test_what_cannot_be_asked_for(words: tuple[str, ...], place: Project) -> None:
    place.write()
    done = place.porter("migrate", *words)
    assert done.code == 2 and len(done.err.splitlines()) == 1


def test_windows_line_ends_and_tabs_stay(place: Project) -> None:
    text = PLAIN.replace("    ", "\t").replace("\n", "\r\n")
    place.write()
    (place.folder / "train.py").write_bytes(text.encode())
    place.distribute("--unsafe", "--inplace", "--allow-dirty")
    data = (place.folder / "train.py").read_bytes()
    assert b"\tif porter_distributed.is_first():\r\n\t\ttorch.save(" in data
    assert data.count(b"\n") == data.count(b"\r\n") and ast.parse(data)
