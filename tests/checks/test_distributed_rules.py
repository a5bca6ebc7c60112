"""What the fixtures cannot show: names against every shipped catalogue, the gate, and facts of more than one file."""

from __future__ import annotations

import pytest

from porter.analysis.file import File
from porter.analysis.python import analyse
from porter.analysis.session import open_session
from porter.catalog.read.load import load as catalogue
from porter.catalog.read.load import versions
from porter.checks.distributed.nccl_name import IMPORTED
from porter.finding import apply
from porter.python.source import Source
from porter.python.strings.environ import HEADS, UNKNOWN, variables
from porter.rulebook import table
from porter.rulebook.gate import GATE
from porter.run.gather import gather
from porter.target import Target


@pytest.mark.parametrize("version", versions())
def test_amp_names_exist(version):
    rows = table.load().moves
    amp = [row.tail for name, row in rows.items() if name.startswith("torch.cuda.amp.") and row.tail]
    assert {"amp.autocast", "amp.GradScaler", "amp.custom_fwd", "amp.custom_bwd"} <= set(amp)
    for tail in [*amp, "is_bf16_supported", "is_autocast_enabled", "get_autocast_dtype", "set_device"]:
        assert catalogue(version).has(f"torch.npu.{tail}"), tail


@pytest.mark.parametrize("version", versions())
def test_names_of_torch_npu_distributed_exist(version):
    package, name = IMPORTED["is_nccl_available"]
    assert catalogue(version).has(f"{package}.{name}")


@pytest.mark.slow
def test_every_variable_is_seen():
    """A file that does nothing but set it passes the gate, and the string is found where it stands."""
    session = open_session()
    for name in table.load().variables:
        line = f'import os\n\nos.environ["{name}"] = "0"\n'.encode()
        assert GATE.search(line), f"{name}: the gate would leave the file unread"
        found = variables(File("a.py", Source(line), session))
        assert [v.name for v in found.values()] == [name]
        told = [(f.code, dict(f.values)["old"]) for f in analyse("a.py", line, session).findings]
        assert len(told) == 1 and told[0] in {(code, name) for code in ("PRT801", "PRT802", "PRT803")}, (name, told)


def test_an_unknown_variable_is_seen():
    assert UNKNOWN.match("NCCL_SOMETHING_NEW") and GATE.search(b'os.environ["NCCL_SOMETHING_NEW"]') and HEADS
    (finding,) = analyse("a.py", b'import os\nos.environ["NCCL_SOMETHING_NEW"] = "1"\n', open_session()).findings
    assert (finding.code, finding.why, finding.status) == ("PRT803", "unknown", "manual")


@pytest.mark.parametrize(
    ("version", "asked"),
    [("2.3.1", b"torch.npu.is_autocast_enabled()"), ("2.7.1.post11", b'torch.is_autocast_enabled("npu")')],
)
def test_autocast_is_asked_for_with_what_the_target_has(version, asked):
    before = b"import torch\n\nprint(torch.is_autocast_enabled())\n"
    result = analyse("a.py", before, open_session(target=Target(torch_npu=version)))
    assert apply(before, result.auto).splitlines()[-1] == b"print(" + asked + b")"


TWIN = b'import torch.distributed as dist\n\n\ndef start():\n    dist.init_process_group(backend="nccl")\n'


@pytest.mark.parametrize(
    "pair",
    [
        ("accelerator/cuda_worker.py", "accelerator/npu_worker.py"),
        ("engines/nccl.py", "engines/hccl.py"),
        ("kernels/cuda/ops.py", "kernels/npu/ops.py"),
        ("test_on_gpu.py", "test_on_npu.py"),
    ],
)
def test_a_file_with_a_twin_for_npus_is_left_alone(tmp_path, pair):
    """A repository that keeps one module per device has been ported: the CUDA module has to stay CUDA's."""
    mine, twin = pair
    (tmp_path / mine).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / mine).write_bytes(TWIN)
    alone = analyse(mine, TWIN, open_session(facts=gather(tmp_path, [mine])))
    assert b'"hccl"' in apply(TWIN, alone.auto)
    facts = gather(tmp_path, sorted([mine, twin]))
    assert facts.accelerators.npu_twins == (mine,)
    together = analyse(mine, TWIN, open_session(facts=facts))
    assert together.auto == together.review == () and not together.findings


def test_a_constant_of_another_file_moves_with_its_use(tmp_path):
    (tmp_path / "names.py").write_text('BACKEND = "nccl"\nTITLE = "nccl"\n')
    (tmp_path / "main.py").write_text(
        "import torch.distributed as dist\nfrom names import BACKEND\n\ndist.init_process_group(BACKEND)\n"
    )
    facts = gather(tmp_path, ["main.py", "names.py"])
    data = (tmp_path / "names.py").read_bytes()
    assert (
        apply(data, analyse("names.py", data, open_session(facts=facts)).auto) == b'BACKEND = "hccl"\nTITLE = "nccl"\n'
    )


OPTION = b'import argparse\n\nparser = argparse.ArgumentParser()\nparser.add_argument("--local_rank", type=int)\n'
SPAWNED = b"\n\ndef main(rank, args):\n    args.local_rank = rank\n\n\ntorch.multiprocessing.spawn(main, nprocs=2)\n"


@pytest.mark.parametrize(
    ("text", "taken"),
    [
        (OPTION, True),
        (OPTION.replace(b'"--local_rank"', b'"--local-rank", "--local_rank"'), False),
        (OPTION.replace(b"type=int", b'default=os.environ["LOCAL_RANK"]'), False),
        (OPTION.replace(b"parser.add_argument", b"schema.define"), False),
        (OPTION + SPAWNED, False),
        (OPTION + SPAWNED.replace(b"args.local_rank = rank", b"print(rank)"), True),
    ],
    ids=[
        "alone",
        "both spellings",
        "the variable is read",
        "another schema",
        "spawned ranks",
        "other spawned processes",
    ],
)
def test_the_spelling_of_the_launcher(text, taken):
    """A program that says nothing else of interest passes the gate, too."""
    assert GATE.search(text)
    after = apply(text, analyse("train.py", text, open_session()).auto)
    assert after == (text.replace(b'"--local_rank"', b'"--local_rank", "--local-rank"') if taken else text)


@pytest.mark.parametrize(("shape", "splits"), [("(8,)", False), ("[8]", False), ("[2, 4]", True), ("shape", True)])
def test_a_mesh_of_one_dimension_splits_no_group(shape, splits):
    text = (
        "import torch.distributed as dist\nfrom torch.distributed.device_mesh import init_device_mesh\n"
        f'dist.init_process_group("nccl", device_id=device)\nmesh = init_device_mesh("cuda", {shape})\n'
    )
    found = analyse("a.py", text.encode(), open_session(target=Target(torch_npu="2.13.0"))).findings
    assert ("PRT217" in {finding.code for finding in found}) is splits


@pytest.mark.parametrize(
    ("shape", "chosen", "auto"),
    [
        ("(2, n)", "torch.cuda.set_device(device)", True),
        ("(2, n)", "print(device)", False),
        ("shape", "torch.cuda.set_device(device)", False),
        ("(2, *shape)", "torch.cuda.set_device(device)", False),
    ],
)
def test_device_id_goes_unasked_where_a_split_is_certain_and_the_device_is_chosen_otherwise(shape, chosen, auto):
    text = (
        f"import torch\nimport torch.distributed as dist\ndevice = torch.device('cuda', 0)\n{chosen}\n"
        "dist.init_process_group('nccl', device_id=torch.device('cuda', 0))\n"
        f"mesh = dist.init_device_mesh('cuda', {shape})\n"
    )
    after = apply(text.encode(), analyse("a.py", text.encode(), open_session(target=Target(torch_npu="2.13.0"))).auto)
    assert (b"init_process_group('hccl')" in after) is auto, after
    assert (b"device_id=torch.device('npu', 0)" in after) is not auto, after


GLOO = b"""import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP


def main(rank, args):
    dist.init_process_group(backend="gloo", rank=rank)
    return DDP(torch.nn.Linear(2, 2).cuda())
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"", b""),
        (b".cuda()", b""),
        (b'"gloo"', b'"cpu:gloo,cuda:nccl"'),
        (b'"gloo"', b"args.backend"),
        (b"DDP(", b"print("),
        (b"    return", b'    dist.new_group(backend="nccl")\n    return'),
        (b"    dist.", b"    if not torch.cuda.is_available():\n        dist."),
        (b"    dist.", b"    if args.cpu:\n        dist."),
    ],
)
def test_gloo_alone_where_parameters_lie_on_the_device(old, new):
    found = analyse("a.py", GLOO.replace(old, new, 1), open_session()).findings
    assert ("PRT218" in {finding.code for finding in found}) is (old == new)


def test_a_test_of_what_npus_do_not_support_is_skipped_there_and_not_rewritten():
    text = b"import torch\n\n\ndef test_it(net):\n    assert torch.nn.DataParallel(net)(torch.ones(1){})\n"
    whys = {
        (path, move): [
            f.why for f in analyse(path, text.replace(b"{}", move), open_session()).findings if "205" in f.code
        ]
        for path in ("tests/test_net.py", "net.py")
        for move in (b".cuda()", b"")
    }
    assert whys == {
        ("tests/test_net.py", b".cuda()"): ["tested"],
        ("tests/test_net.py", b""): ["wrapped"],
        ("net.py", b".cuda()"): ["call"],
        ("net.py", b""): ["call"],
    }
