"""What other porting tools of this kind get wrong, miss or die of, each as a case of its own."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from command_line import Porter

from porter.analysis.python import analyse
from porter.analysis.session import open_session
from porter.engine.session import Session
from porter.finding import FileResult, apply
from porter.run.gather import gather
from porter.target import Target

HEAD = "import os\nimport subprocess\n\nimport torch\nimport torch.distributed as dist\nfrom torch import nn\n\n\n"
SESSION = open_session()
TRAIN = b"import torch\n\ntorch.cuda.synchronize()\n"


@pytest.fixture
def porter(tmp_path, monkeypatch) -> Porter:
    folder = tmp_path / "work"
    folder.mkdir()
    return Porter(monkeypatch, folder)


def look(text: str, session: Session = SESSION) -> FileResult:
    result = analyse("train.py", text.encode(), session)
    assert not [f for f in result.findings if f.code in ("PRT002", "PRT003")]
    return result


def written(text: str, session: Session = SESSION, unsafe: bool = True) -> str:
    result = look(text, session)
    new = apply(text.encode(), result.review if unsafe else result.auto).decode()
    return new.replace("import torch_npu  # noqa: F401\n", "")


def codes(text: str, session: Session = SESSION) -> set[str]:
    return {f.code for f in look(text, session).findings}


# ---- wrong edits

STAYS = {
    "starred arguments of to": "def move(self, *args, **kwargs):\n    return self.tensor.to(*args, **kwargs)\n",
    "keywords of to": "def move(x, d):\n    return x.to(non_blocking=True, device=d)\n",
    "arguments with effects": "def move(x, it, pool):\n    return x.to(next(it)), x.to(pool.acquire())\n",
    "hasattr of a module": "def unwrap(model):\n    return hasattr(model.module, 'fc')\n",
    "a parameter called torch": "def helper(torch):\n    return torch.cuda.is_available()\n",
    "a function called cuda": "def cuda(v):\n    return v\n\n\ndef twice():\n    return cuda(cuda(3))\n",
    "an attribute called CUDA": "class Kind:\n    CUDA = 'x'\n\n\nprint(Kind.CUDA)\n",
    "an enumeration of another library": "from caffe2.proto import caffe2_pb2\n\nprint(caffe2_pb2.CUDA)\n",
    "a guarded probe": "try:\n    import amp_C\n    HAS = True\nexcept ImportError:\n    HAS = False\n",
    "an SQL text": "QUERY = 'SELECT cuda: FROM t'\n",
    "an image": "IMAGE = 'nvidia/cuda:12.1.0-cudnn8-devel'\n",
    "an address": "URL = 'https://example.org/cuda:12.1'\n",
    "a path": "PAGE = 'docs/torch.cuda.html'\n",
    "a key and its use": "def flags(cfg):\n    return {'cuda': 1}['cuda'], cfg.get('cuda'), dict(cuda=True)\n",
    "an attribute by name": "def flag(ns):\n    return getattr(ns, 'cuda')\n",
    "a docstring": 'def f():\n    """cuda:0 or any torch.cuda device"""\n',
    "the CPU": "DEVICE = torch.device('cpu')\n",
    "devices that are no constants": "def move(x, h, points):\n    return x.to(h.device), torch.zeros(3, device=h), x.to(points)\n",
    "an integer that is converted": "def move(x, self_points):\n    return x.to(int(3)), x.to(self_points)\n",
    "a longer text": "NOTE = 'needs nccl 2.18 or newer'\n",
    "a fused optimiser": "def make(ps):\n    return torch.optim.AdamW(ps, fused=True)\n",
    "device-neutral code": "torch.accelerator.synchronize()\n",
    "an option that users know": "def options(p):\n    p.add_argument('--no-cuda', action='store_true')\n",
}  # fmt: skip


@pytest.mark.parametrize("name", STAYS)
def test_what_means_something_else_stays(name):
    text = HEAD + STAYS[name]
    assert written(text) == text


def test_an_alias_is_one_in_its_scope_only():
    text = (
        "def a():\n    fn = torch.cuda.is_available\n    return fn()\n\n\n"
        "def b():\n    fn = len\n    return fn([1])\n\n\n"
        "def c(fn):\n    return fn([1])\n\n\n"
        "def d():\n    model = torch.cuda\n    return model.device_count()\n\n\n"
        "def e(model):\n    return model.device_count()\n"
    )
    new = written(HEAD + text)
    assert new == HEAD + text.replace("torch.cuda", "torch.npu")


def aware(folder: Path, text: str) -> Session:
    (folder / "train.py").write_text(text, "utf-8")
    return open_session(facts=gather(folder, ["train.py"]))


def test_an_own_class_keeps_its_method_and_gets_the_new_name(tmp_path):
    text = HEAD + "class Fake:\n    def cuda(self):\n        return self\n\n\nFake().cuda()\n"
    session = aware(tmp_path, text)
    assert written(text, session, unsafe=False) == text, "without a look nothing moves"
    new = written(text, session)
    assert "    def npu(self):" in new and "    cuda = npu\n" in new and new.endswith("Fake().npu()\n")


def test_an_own_flag_moves_for_nobody_without_a_look(tmp_path):
    text = HEAD + "class Fake:\n    is_cuda = False\n\n\nprint(Fake().is_cuda, Fake.is_cuda)\n"
    assert written(text, aware(tmp_path, text), unsafe=False) == text


def test_the_profiler_and_its_activities_move_together():
    text = (
        "import torch\nfrom torch.profiler import ProfilerActivity, profile\n\n"
        "with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as p:\n    pass\n"
    )
    new = written(text)
    assert (
        "ProfilerActivity.NPU" in new and "from torch_npu.profiler import" in new and "from torch.profiler" not in new
    )


@pytest.mark.parametrize(
    "text",
    [
        "import torch.cuda.nccl as nccl\n",
        "from torch.cuda.nvtx import range_push\n",
        "import torch\n\ngraph = torch.cuda.CUDAGraph()\n",
        "import torch\n\ntorch.cuda.comm.broadcast(1, [0])\n",
        "import torch\n\nprint(torch.cuda._utils)\n",
    ],
)
def test_no_name_is_written_that_the_target_lacks(text):
    new = written(text)
    for word in new.replace("(", " ").replace(")", " ").split():
        if word.startswith(("torch.npu.", "torch_npu.")):
            assert SESSION.has(word), word
    assert (
        "torch.npu.nccl" not in new and "npu.nvtx" not in new and "npu.CUDAGraph" not in new and "npu.comm" not in new
    )
    assert new != text or codes(text), "ported, or said why not"


def test_a_pair_of_backends_is_converted_whole():
    assert written('import torch.distributed as d\n\nd.init_process_group("cpu:gloo,cuda:nccl")\n').endswith(
        'd.init_process_group("cpu:gloo,npu:hccl")\n'
    )


def test_an_import_of_several_modules_keeps_the_others():
    text = "import amp_C, os\n\nprint(os.sep, amp_C.multi_tensor_scale)\n"
    assert written(text) == text and codes(text) == {"PRT354", "PRT355"}


def test_torch_npu_is_imported_where_everybody_sees_it():
    text = "def setup():\n    import torch\n    return torch\n\n\nimport torch\n\ntorch.cuda.synchronize()\n"
    new = apply(text.encode(), look(text).auto).decode()
    assert "\n\nimport torch\nimport torch_npu  # noqa: F401\n\ntorch.npu.synchronize()\n" in new
    assert new.count("import torch_npu") == 1


@pytest.mark.parametrize(
    "data",
    [
        "# -*- coding: gbk -*-\nimport torch\n\nNOTE = '显存'\ntorch.cuda.synchronize()\n".encode("gbk"),
        "\ufeffimport torch\n\ntorch.cuda.synchronize()  # ü\n".encode(),
        b"import torch\r\n\r\n\ttorch\r\n".replace(b"\ttorch", b"torch.cuda.synchronize()"),
    ],
)
def test_bytes_around_an_edit_stay(data):
    new = apply(data, analyse("train.py", data, SESSION).auto)
    line = b"\r\n" if b"\r\n" in data else b"\n"
    expected = data.replace(b"torch.cuda", b"torch.npu").replace(
        b"import torch" + line, b"import torch" + line + b"import torch_npu  # noqa: F401" + line, 1
    )
    assert new == expected


# ---- what is overlooked

PORTED = [
    ("os.environ['CUDA_VISIBLE_DEVICES'] = '0'", "os.environ['ASCEND_RT_VISIBLE_DEVICES'] = '0'"),
    ("os.environ['CUDA_LAUNCH_BLOCKING'] = '1'", "os.environ['ASCEND_LAUNCH_BLOCKING'] = '1'"),
    ("os.environ['PYTORCH_CUDA_ALLOC_CONF'] = 'x'", "os.environ['PYTORCH_NPU_ALLOC_CONF'] = 'x'"),
    ("fn = torch.zeros(1).cuda", "fn = torch.zeros(1).npu"),
    ("fns = [torch.zeros(1).cuda, print]", "fns = [torch.zeros(1).npu, print]"),
    ("ys = map(torch.Tensor.cuda, [])", "ys = map(torch.Tensor.npu, [])"),
    ("print(dist.Backend.NCCL)", "print(dist.Backend.HCCL)"),
    ("print(dist.is_nccl_available())", "print(dist.is_hccl_available())"),
    ("print(dist.ProcessGroupNCCL)", "print(torch_npu._C._distributed_c10d.ProcessGroupHCCL)"),
    ("x = torch.zeros(1).to(memory_format=torch.channels_last)", "x = torch.zeros(1).to(memory_format=torch.contiguous_format)"),
    ("torch.backends.cudnn.allow_tf32 = False", "torch.npu.conv.allow_hf32 = False"),
    ("scaler = torch.amp.GradScaler()", "scaler = torch.amp.GradScaler('npu')"),
    ("loader = torch.utils.data.DataLoader([], pin_memory_device='cuda')", "loader = torch.utils.data.DataLoader([], pin_memory_device='npu')"),
    ("compiled = torch.compile(nn.Linear(1, 1), mode='max-autotune')", "compiled = torch.compile(nn.Linear(1, 1), mode='default')"),
    ("oom = 'CUDA out of memory' in str(ValueError())", "oom = 'NPU out of memory' in str(ValueError())"),
]  # fmt: skip


@pytest.mark.parametrize(("before", "after"), PORTED, ids=[before for before, _ in PORTED])
def test_what_others_leave_is_ported(before, after):
    assert written(f"{HEAD}{before}\n").replace('"', "'") == f"{HEAD}{after}\n"


REPORTED = [
    ("os.environ['NCCL_DEBUG'] = 'INFO'", "PRT803"),
    ("subprocess.run(['nvidia-smi'])", "PRT145"),
    ("import pynvml", "PRT401"),
    ("import flash_attn", "PRT401"),
    ("import xformers.ops", "PRT401"),
    ("import bitsandbytes as bnb", "PRT401"),
    ("import transformer_engine", "PRT401"),
    ("import cupy", "PRT401"),
    ("major = torch.version.cuda.split('.')[0]", "PRT141"),
    ("from apex.optimizers import FusedLAMB", "PRT355"),
    ("from apex.parallel import DistributedDataParallel", "PRT355"),
    ("from apex import amp\n\nmodel = amp.initialize(nn.Linear(1, 1))", "PRT350"),
    ("torch.backends.cudnn.deterministic = True", "PRT305"),
    ("script = torch.jit.script(nn.Linear(1, 1))", "PRT509"),
    ("new = torch.cuda.get_device_capability()[0] >= 8", "PRT110"),
    ("major = torch.cuda.get_device_properties(0).major", "PRT110"),
    ("peak_flops = 312e12", "PRT143"),
    ("model = nn.DataParallel(nn.Linear(1, 1))", "PRT205"),
    ("@triton.jit\ndef kernel(x):\n    pass\n", "PRT403"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "code"), REPORTED, ids=[line for line, _ in REPORTED])
def test_what_others_leave_is_reported(line, code):
    assert code in codes(f"{HEAD}import triton\n\n{line}\n")


CALLED = ("recbole.", "mmcv.parallel.", "torchpack.")
ON_CUDA = {  # what asks for kernels; else the package runs on the CPU
    "onnxruntime": 'wanted = ["CUDAExecutionProvider"]\n',
    "faiss": "faiss.StandardGpuResources()\n",
    "torch_scatter.scatter": 'torch_scatter.scatter(x, index, reduce="max")\n',
}


@pytest.mark.slow
def test_every_package_that_only_runs_on_gpus_is_reported():
    packages = [name for name, row in SESSION.rules.tables.packages.items() if row.why and row.code == "PRT401"]
    assert len(packages) > 30
    for name in packages:
        asks = ON_CUDA.get(name, "")
        is_called = name.startswith(CALLED)  # and where it is only imported, nothing runs
        asks = f"{name}({'' if name.endswith('.init') else '1'})\n" if is_called else asks
        asked = name.rpartition(".")[0] if is_called else name
        assert "PRT401" in codes(f"import torch\nimport {asked}\n{asks}"), name


def test_names_through_every_kind_of_import():
    assert written("from torch import cuda\n\ncuda.manual_seed(2)\n") == (
        "from torch_npu import npu as cuda\n\ncuda.manual_seed(2)\n"
    )
    assert written("import torch\n\ncuda = torch.cuda\ncuda.manual_seed(2)\n").endswith(
        "cuda = torch.npu\ncuda.manual_seed(2)\n"
    )
    assert written("import torch.cuda as C\n\nC.manual_seed(2)\n").startswith("import torch_npu.npu as C\n")


@pytest.mark.parametrize(
    "line", ["d = torch.device(0)", "m = nn.Linear(3, 3, device=0)", "t = torch.ones(1).new_zeros(3, device=0)"]
)
def test_integers_are_devices_where_torch_says_so(line):
    assert written(f"{HEAD}{line}\n") == f"{HEAD}{line}\n", "from torch 2.5.1 they mean the accelerator in use"
    old = look(f"{HEAD}{line}\n", open_session(target=Target(torch_npu="2.1.0.post17")))
    assert {f.code for f in old.findings} == {"PRT133"}


def test_a_notebook_is_read_too(porter):
    cell = {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {},
        "outputs": [],
        "source": TRAIN.decode().splitlines(True),
    }
    path = porter.folder / "train.ipynb"
    path.write_text(
        json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1), "utf-8"
    )
    assert porter("migrate", ".", "--inplace").code == 0
    assert "torch.npu.synchronize()" in path.read_text("utf-8")


# ---- what ends their run

CRASHES = [
    'hasattr(self.model.module, "x")',
    "(get_a() if c else get_b())(x)",
    '(fns["a"] if c else fns["b"])(x)',
    "((lambda v: v) if c else f)(x)",
    "(torch.cuda if c else torch)(666)",
]


@pytest.mark.parametrize("line", CRASHES)
def test_nothing_that_is_called_ends_the_run(line):
    text = f"{HEAD}def f(self, c, x, fns):\n    torch.cuda.synchronize()\n    return {line}\n"
    assert "torch.npu.synchronize()" in written(text)


def test_odd_sources_and_paths(porter):
    folder = porter.folder / "a+b äß 模型"
    folder.mkdir()
    (folder / "train.py").write_bytes(TRAIN)
    (folder / "k.cu").write_bytes(b"// caf\xe9\n__global__ void k() {}\n")
    (folder / "ops.cpp").write_bytes(b"TORCH_LIBRARY_IMPL(a, CUDA, m) {\n  m.impl(name, fn);\n}\n")
    (folder / "old.py").write_bytes(b"print 'torch.cuda'\n")
    (folder / "torn.py").write_bytes(b"import torch.cuda\n\xff\xfe\n")
    assert porter("migrate", folder.name, "--inplace").code == 0
    assert b"torch.npu.synchronize()" in (folder / "train.py").read_bytes()


def test_one_file_a_link_and_open_permissions(porter):
    path = porter.folder / "train.py"
    path.write_bytes(TRAIN)
    os.chmod(path, 0o666)
    (porter.folder / "link").symlink_to(porter.folder, target_is_directory=True)
    assert porter("analyze", "train.py").code == 1
    assert porter("analyze", "link").code in (0, 1)
    assert porter("migrate", "train.py", "--inplace").code == 0
    assert path.stat().st_mode & 0o777 == 0o666 and b"torch.npu" in path.read_bytes()


def test_an_output_that_exists_is_refused_without_a_question(porter):
    (porter.folder / "src").mkdir()
    (porter.folder / "src" / "train.py").write_bytes(TRAIN)
    (porter.folder / "out").mkdir()
    (porter.folder / "out" / "mine.txt").write_bytes(b"")
    got = porter("migrate", "src", "--out", "out")
    assert got.code == 2 and "out" in got.err
    assert (porter.folder / "out" / "mine.txt").exists()


# ---- what is left to the user's own reading

BY_HAND = [
    ("import amp_C\n\nprint(amp_C.multi_tensor_scale)", {"PRT354", "PRT355"}),
    ("from apex.optimizers import FusedAdam\n\nprint(FusedAdam([], lr=1.0))", {"PRT351", "PRT355"}),
    ("model = nn.DataParallel(nn.Linear(1, 1))", {"PRT205"}),
    ("backend = 'x'\nif backend == 'nccl':\n    pass", {"PRT202"}),
    ("print(torch.cuda.default_generators)", {"PRT101"}),
    ("model = nn.Linear(1, 1).to(memory_format=torch.channels_last)", {"PRT502"}),
    ("script = torch.jit.script(nn.Linear(1, 1))", {"PRT509"}),
    ("print(torch.cuda.get_device_capability())", {"PRT110"}),
    ("print(torch.cuda.get_device_properties(0).minor)", {"PRT110"}),
    ("nn.Linear(1, 1).load_state_dict(torch.load('x.pt'))", {"PRT901"}),
    ("model = nn.Linear(1, 1).cuda().double()", {"PRT130", "PRT307"}),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), BY_HAND, ids=[text for text, _ in BY_HAND])
def test_what_a_manual_would_say_is_a_finding(text, expected):
    assert expected <= codes(f"{HEAD}{text}\n")
