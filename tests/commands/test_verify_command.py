"""`porter verify` as people call it: programs that misbehave, trees in odd places, one clear line and the right exit code."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from virtual_device import VirtualNpu

pytestmark = pytest.mark.slow

OK, FOUND, USAGE, INTERRUPTED = 0, 1, 2, 130
TRAINS = """
    import torch
    model = torch.nn.Linear(4, 2).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        model(torch.randn(3, 4).cuda()).square().sum().backward()
        optimizer.step()
"""


@pytest.fixture
def verify(virtual_npu: VirtualNpu, tmp_path):
    """`cold`: by an interpreter that starts, and ends, as a user's does."""

    def call(
        *words: str, cwd: Path | None = None, timeout: int = 240, cold: bool = False, **env: str
    ) -> subprocess.CompletedProcess:
        python = (virtual_npu.interpreter if cold else virtual_npu.warm).path
        command = [sys.executable, "-m", "porter", "verify", "--python", python, *words]
        porter = str(Path(__file__).parents[2])
        path = {"PYTHONPATH": os.pathsep.join(filter(None, [porter, env.pop("PYTHONPATH", "")]))}
        return subprocess.run(
            command, cwd=cwd or tmp_path / "project", env={**os.environ, **path, **env}, timeout=timeout, text=True,
            capture_output=True, stdin=subprocess.PIPE, check=False,
        )  # fmt: skip

    return call


@pytest.fixture
def project(tmp_path):
    def write(**files: str) -> Path:
        root = tmp_path / "project"
        for name, content in files.items():
            path = root / (name.replace("__", "/") + ".py")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(content))
        return root

    return write


def tree(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


@pytest.mark.parametrize(
    ("program", "says"),
    [
        ("import os; os.abort()", "killed by SIGABRT"),
        ("import ctypes; ctypes.string_at(0)", "killed by SIGSEGV"),
        ("import sys; sys.exit(3)", "exit code 3"),
        ("import sys; sys.exit('no data found')", "no data found"),
        ("print(input('Name? '))", "EOFError at train.py:3: EOF when reading a line"),
        ("raise ValueError('line one\\nline two')", "ValueError at train.py:3: line one"),
    ],
)
def test_a_program_that_ends_badly(verify, project, program, says):
    project(train=f"import torch\nimport torch_npu\n{program}\n")
    done = verify("--smoke", "train.py", cold=True)
    assert done.returncode == FOUND, done.stdout + done.stderr
    assert says in done.stdout
    assert "NOT VERIFIED: the port did not run to its end." in done.stdout
    assert "Traceback" not in done.stderr


def test_a_program_that_hangs_is_stopped_with_all_it_started(verify, project, tmp_path):
    alive = tmp_path / "alive"
    project(
        train=f"""
        import subprocess, sys, time
        import torch, torch_npu
        beat = "import time\\nwhile True: open({str(alive)!r}, 'w').write(str(time.time())); time.sleep(0.2)"
        subprocess.Popen([sys.executable, "-S", "-c", beat])

        def wait():
            while True:
                time.sleep(0.1)

        wait()
        """
    )
    done = verify("--smoke", "--timeout", "12", "train.py", cold=True)
    assert done.returncode == FOUND
    assert "stopped at the time limit" in done.stdout
    assert "when its time was up it was at train.py:9" in done.stdout
    time.sleep(1)
    assert time.time() - float(alive.read_text() or 0) > 0.8, "what it started runs on"


@pytest.mark.parametrize("times", [1, 2])
def test_control_c_leaves_no_process_and_nothing_written(virtual_npu: VirtualNpu, project, tmp_path, times):
    """A terminal sends it to porter's group; who is impatient sends it twice, while what runs ignores it."""
    alive, temporary = tmp_path / "alive", tmp_path / "temporary"
    temporary.mkdir()
    root = project(
        train=f"""
        import multiprocessing, os, signal, subprocess, sys, time

        def stay():
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, signal.SIG_IGN)
            open("left behind.txt", "w").write("written in a copy")
            with open({str(alive)!r}, "a") as file:
                file.write(f"{{os.getpid()}}\\n")
            time.sleep(300)

        if __name__ == "__main__":
            multiprocessing.get_context("spawn").Process(target=stay).start()
            subprocess.Popen([sys.executable, "-c", "import train; train.stay()"])
            stay()

        def never_called():
            import torch
            torch.cuda.synchronize()
        """
    )
    before = tree(root)
    command = [sys.executable, "-m", "porter", "verify", "--python", virtual_npu.interpreter.path, "train.py"]
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), "TMPDIR": str(temporary)}
    porter = subprocess.Popen(
        command, cwd=root, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    until = time.monotonic() + 120
    while (not alive.is_file() or alive.read_text().count("\n") < 3) and time.monotonic() < until:
        assert porter.poll() is None, porter.communicate()
        time.sleep(0.05)
    for _ in range(times):
        os.killpg(porter.pid, signal.SIGINT)
        time.sleep(0.5)
    said = porter.communicate(timeout=60)
    assert porter.returncode == INTERRUPTED, said
    assert "Traceback" not in said[1]
    started = [int(line) for line in alive.read_text().split()]
    assert len(started) == 3
    assert [number for number in started if is_alive(number)] == []
    assert tree(root) == before
    assert list(temporary.iterdir()) == []


def is_alive(number: int) -> bool:
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_megabytes_of_output_are_not_repeated(verify, project):
    project(train="import torch, torch_npu\nfor n in range(50000): print('noise', n, 'x' * 50)\nraise SystemExit(1)\n")
    done = verify("--smoke", "train.py")
    assert done.returncode == FOUND
    assert "noise 49999" in done.stdout
    assert len(done.stdout) < 10_000


def test_the_tree_stays_as_it_is(verify, project):
    root = project(
        train="""
        import os, torch, helper
        beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "beside.txt")
        for path in ("here.txt", beside, "train.py"):
            open(path, "a").write("# written\\n")
        os.makedirs("runs/one")
        loss = torch.ones(2, requires_grad=True).cuda() * helper.scale()
        loss.sum().backward()
        """,
        helper="import torch\ndef scale():\n    return torch.randn(2).cuda()\n",
    )
    before = tree(root)
    done = verify("train.py", cold=True)
    assert done.returncode == OK, done.stdout + done.stderr
    assert tree(root) == before


@pytest.mark.parametrize("how", ["relative", "absolute", "above", "beside", "link"])
def test_started_from_anywhere(verify, project, tmp_path, how):
    root = project(
        pkg__train="""
        import sys, torch
        from pkg_helper import place
        number = float(open(sys.argv[1]).read())
        (torch.ones(2, requires_grad=True).to(place()) * number * torch.randn(1).cuda()).sum().backward()
        """,
        pkg__pkg_helper="import torch\ndef place():\n    return torch.device('cuda')\n",
        pyproject="",
    )
    (root / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    (root / "number.txt").write_text("3.5")
    (tmp_path / "other").mkdir()
    (tmp_path / "link").symlink_to(root)
    script, data, cwd = {
        "relative": ("pkg/train.py", "number.txt", root),
        "absolute": (str(root / "pkg/train.py"), str(root / "number.txt"), root),
        "above": ("project/pkg/train.py", "project/number.txt", tmp_path),
        "beside": ("../project/pkg/train.py", "../project/number.txt", tmp_path / "other"),
        "link": (str(tmp_path / "link/pkg/train.py"), str(tmp_path / "link/number.txt"), tmp_path / "other"),
    }[how]
    done = verify(script, data, cwd=cwd)
    assert done.returncode == OK, done.stdout + done.stderr
    assert re.search(r"loss +1 +1 ", done.stdout)


def test_a_package_that_is_installed_in_place_is_the_port(verify, project):
    root = project(
        src__mine="import torch\ndef move(x):\n    return x.cuda()\n",
        scripts__train="import torch, mine\nmine.move(torch.ones(2, requires_grad=True)).sum().backward()\n",
    )
    (root / "pyproject.toml").write_text("[project]\nname = 'mine'\n")
    done = verify("scripts/train.py", PYTHONPATH=str(root / "src"))
    assert done.returncode == OK, done.stdout + done.stderr


def test_shell_scripts_start_the_same_interpreter(verify, project):
    root = project(train=TRAINS)
    (root / "run.sh").write_text("set -e\ntorchrun --standalone --nproc_per_node=${2:-2} $1\n")
    done = verify("--format", "json", "--", "bash", "run.sh", "train.py", cold=True)
    result = json.loads(done.stdout)
    assert done.returncode == OK, done.stdout + done.stderr
    assert result["devices"] == 2
    assert {"loss", "loss of rank 1"} <= {curve["name"] for curve in result["curves"]}


def test_draws_without_a_seed_are_the_same_in_both_and_others_in_each_rank(verify, project):
    project(train=TRAINS.replace("torch.randn(3, 4).cuda()", "torch.randn(3, 4, device='cuda')"))
    done = verify("--format", "json", "--", "torchrun", "--standalone", "--nproc_per_node=2", "train.py")
    curves = {curve["name"]: curve for curve in json.loads(done.stdout)["curves"]}
    assert done.returncode == OK, done.stdout
    assert curves["loss"]["original"] != curves["loss of rank 1"]["original"]


def test_devices_that_are_typed_are_the_ports_own(verify, project):
    project(
        train="""
        import argparse, torch
        parser = argparse.ArgumentParser()
        parser.add_argument("--device", default="cpu")
        parser.add_argument("--backend", choices=["nccl", "gloo"])
        args = parser.parse_args()
        torch.distributed.init_process_group(args.backend)
        loss = torch.randn(2, requires_grad=True).to(args.device).sum()
        torch.distributed.all_reduce(loss)
        loss.backward()
        """
    )
    words = ["train.py", "--device=cuda:0", "--backend", "nccl"]
    done = verify("--", "torchrun", "--standalone", "--nproc_per_node=1", *words)
    assert done.returncode == OK, done.stdout + done.stderr


def test_the_original_is_translated_within_its_backward_pass_but_not_within_torch(verify, project):
    project(
        train="""
        import torch
        import torch.distributed as dist
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import fully_shard
        from torch.distributed.tensor.parallel import ColwiseParallel, parallelize_module
        from torch.utils.checkpoint import checkpoint

        class Double(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            def backward(ctx, gradient):
                assert gradient.is_cuda
                return gradient * torch.full((), 2.0, device="cuda")

        def block(x):
            return Double.apply(x) + torch.ones(2, device="cuda")

        x = torch.randn(2, requires_grad=True)
        checkpoint(block, x.cuda(), use_reentrant=True).sum().backward()
        torch.save(torch.autograd.grad(Double.apply(x.cuda()).sum(), x), "gradient.pt")

        # FSDP compares the device of a DTensor with that of its mesh
        dist.init_process_group("nccl", store=dist.HashStore(), rank=0, world_size=1)
        mesh = init_device_mesh("cuda", (1, 1), mesh_dim_names=("dp", "tp"))
        model = torch.nn.Sequential(torch.nn.Linear(4, 4)).cuda()
        parallelize_module(model, mesh["tp"], {"0": ColwiseParallel()})
        fully_shard(model, mesh=mesh["dp"])
        model(torch.randn(2, 4, device="cuda")).sum().backward()
        dist.destroy_process_group()
        """
    )
    done = verify("train.py")
    assert done.returncode == OK, done.stdout + done.stderr


def test_two_trees_of_the_user(verify, project, tmp_path):
    ported = TRAINS.replace("import torch", "import torch, torch_npu").replace(".cuda()", ".npu()")
    root = project(old__train=TRAINS, new__train=ported.replace("lr=0.1", "lr=0.10"))
    done = verify(
        "--original", "old", "--ported", "new", "--output", str(tmp_path / "out.json"), str(root / "old/train.py")
    )
    assert done.returncode == OK, done.stdout + done.stderr
    result = json.loads((tmp_path / "out.json").read_text())
    unfelt = 1 + next(n for n, line in enumerate((root / "new/train.py").read_text().splitlines()) if "lr=0.10" in line)
    assert (result["verdict"], result["edited_statements"]["unfelt"]) == ("equal", [f"train.py:{unfelt}"])
    (root / "new/train.py").write_text((root / "new/train.py").read_text().replace("lr=0.10", "lr=0.2"))
    done = verify("--original", "old", "--ported", "new", "--", "python", "train.py")
    assert done.returncode == FOUND
    assert "loss parts at step 2" in done.stdout


EVALUATES = """
    import csv, torch
    torch.manual_seed(0)
    scores = torch.randn(40, 5).cuda()
    labels, mask = torch.randint(5, (40,)).cuda(), (torch.arange(40) < 30).cuda()
    with open("log.csv", "w") as stream, torch.inference_mode():
        log = csv.writer(stream)
        log.writerow(["part", "loss", "seconds"])
        for part in range(3):
            chosen = mask if part < 2 else mask
            loss = torch.nn.functional.cross_entropy(scores[chosen], labels[chosen])
            log.writerow([part, loss.item(), torch.rand(()).item()])
        print(f"accuracy: {(scores.argmax(1) == labels)[mask].float().mean():.4f}, seconds {id(loss)}")
"""


def test_a_bug_that_only_the_log_and_the_output_show(verify, project):
    """Nothing calls backward() or an optimiser: what is printed and written is all there is."""
    ported = EVALUATES.replace("import csv, torch", "import csv, torch, torch_npu").replace(".cuda()", ".npu()")
    root = project(old__eval=EVALUATES, new__eval=ported)
    words = ["--original", "old", "--ported", "new", "--", "python", "eval.py"]
    done = verify(*words)
    assert done.returncode == OK, done.stdout + done.stderr
    bug = ported.replace("else mask", "else ~mask").replace("labels)[mask]", "labels)[~mask]")
    (root / "new/eval.py").write_text(textwrap.dedent(bug))
    done = verify(*words)
    assert done.returncode == FOUND
    assert "log.csv loss parts at its value 3: " in done.stdout and "(log.csv:4)" in done.stdout
    assert "printed accuracy parts at its value 1: " in done.stdout and "(eval.py:13)" in done.stdout


def test_what_porter_had_said_of_the_place(verify, project):
    project(train="import torch\nprint(torch.cuda.get_device_capability()[0] + 1)\n" + textwrap.dedent(TRAINS))
    done = verify("train.py")
    assert done.returncode == FOUND
    assert "at train.py:3" in done.stdout
    assert "porter had said of this place" in done.stdout


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["nothing.py"], "nothing.py"),
        (["--", "no-such-launcher", "train.py"], "no-such-launcher"),
        (["--original", "here", "train.py"], "--original OLD and --ported NEW go together"),
        (["--original", "here", "--ported", "there", "train.py"], "here: no such directory"),
        (["--format", "xml", "train.py"], "--format: 'xml' is none of text, json"),
        ([], "no program to verify"),
    ],
)
def test_usage(verify, project, words, says):
    project(train=TRAINS)
    done = verify(*words)
    assert done.returncode == USAGE, done.stdout + done.stderr
    assert says in done.stderr
    assert done.stderr.count("porter: ") == 1 and "Traceback" not in done.stderr


def test_the_launcher_of_the_sample_starts_the_port_on_two_cards(verify):
    """The script's variables and options, the settings file and the parser of the program have to be ported together."""
    sample = Path(__file__).parents[2] / "examples" / "gpt_cnn"
    options = "--steps 2 --layers 1 --width 16 --heads 2 --batch-size 2 --precision fp32".split()
    cards = {"CUDA_VISIBLE_DEVICES": "0,1", "ASCEND_RT_VISIBLE_DEVICES": "0,1"}
    words = ["--unsafe", "--devices", "2", "--format", "json", "--", "bash", "scripts/train_gpt_ddp.sh", *options]
    done = verify(*words, cwd=sample, **cards, cold=True)
    assert done.returncode == OK, done.stdout + done.stderr
    found = json.loads(done.stdout)
    names = {curve["name"] for curve in found["curves"]}
    # the port has torch's foreach form where the original takes the fused kernel: their last bits differ
    assert found["verdict"] in ("equal", "close") and {"loss", "loss of rank 1"} <= names


def test_the_port_begins_anew_with_each_difference_and_leaves_nothing_behind(verify, project, tmp_path):
    """A run that found what an earlier one saved would go on from there."""
    program = """
        import os, torch{imports}
        torch.manual_seed(0)
        model = torch.nn.Linear(4, 2)
        if os.path.exists("model.pt"):
            raise SystemExit("not the first run here")
        model = model.to("{device}")
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(2):
            torch.nn.functional.gelu(model(torch.ones(3, 4, device="{device}"))).square().sum().backward()
            optimizer.step()
        torch.save(model.state_dict(), "model.pt")
    """
    old, new = program.format(imports="", device="cuda"), program.format(imports=", torch_npu", device="npu")
    before = tree(project(old__train=old, new__train=new) / "new")
    trees = ("--original", "old", "--ported", "new")
    done = verify(*trees, "--as", "A2", "--only", "tanh-gelu", "--format", "json", "train.py")
    assert done.returncode == OK, done.stdout + done.stderr
    (effect,) = json.loads(done.stdout)["sensitivity"]["effects"]
    assert (effect["name"], effect["state"], effect["ended"]) == ("tanh-gelu", "ran", "ended")
    assert effect["calls_changed"] == effect["calls"] == 4
    loss = next(series for series in effect["series"] if series["name"] == "loss")
    assert (loss["points"], loss["first"]) == (2, 0)
    assert 0 < loss["largest_relative_difference"] < 1e-2
    assert tree(tmp_path / "project/new") == before


def test_the_first_things_that_a_port_does_otherwise_are_named(verify, project):
    """Of two trees, started in a folder of them; the loss parts lines after what is wrong."""
    program = """
        import torch{imports}
        torch.manual_seed(0)
        model = torch.nn.Linear(4, 2).{device}()
        optimizer = torch.optim.Adam(model.parameters(), lr=0.1{more})
        for step in range(3):
            batch = torch.randn(3, 4)
            hidden = model(batch.{device}())
            loss = hidden.square().mean()
            {term}
            loss.backward()
            optimizer.step()
        torch.save(model.state_dict(), "model.pt")
    """
    old = program.format(imports="", device="cuda", more="", term="loss = loss + hidden.abs().mean()")
    new = program.format(
        imports=", torch_npu", device="npu", more=", eps=1e-3", term="loss = loss + hidden.abs().mean().detach()"
    )
    root = project(old__part__train=old, new__part__train=new)
    before = tree(root)
    done = verify("--original", "../../old", "--ported", "..", "--format", "json", "train.py", cwd=root / "new/part")
    assert done.returncode == FOUND, done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert (found["verdict"], found["culprit"]["name"]) == ("apart", "port")
    settings, term, *_ = found["first_differences"]
    assert (settings["kind"], settings["name"], settings["where"]) == ("setting", "Optimizer", "part/train.py:5")
    assert "eps=1e-08" in settings["original"] and "eps=0.001" in settings["ported"]
    assert (term["kind"], term["name"], term["where"]) == ("only-port", "detach", "part/train.py:10")
    left = tree(root)
    saved = {"new/part/model.pt", "old/part/model.pt"}  # the runs that are compared stand in the trees themselves
    assert {name: left[name] for name in left.keys() - saved} == before


def test_what_runs_once_more_runs_in_a_copy_as_it_was(verify, project):
    """Of a program that changes a file of its own, is started from outside, and does not run twice in one place."""
    root = project(
        app__train="""
        import os, torch
        log = os.path.join(os.path.dirname(__file__), "log.txt")
        assert open(log).read() == "", "not the first run here"
        open(log, "w").write("ran")
        w = torch.ones(2, device="cuda", requires_grad=True)
        (w * 2).sum().backward()
        w.sum().to("cu" + "da").backward()
        """
    )
    (root / "app/pyproject.toml").write_text("")
    (root / "app/log.txt").write_text("")
    done = verify("--format", "json", "app/train.py")
    assert done.returncode == FOUND, done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert found["culprit"]["name"] == "port"
    assert found["first_differences"][0]["kind"] == "only-original"
    assert (root / "app/log.txt").read_text() == ""
