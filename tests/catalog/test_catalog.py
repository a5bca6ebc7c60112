"""What torch_npu offers: read from wheels that are not imported, shipped as one file per version, asked by name."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from catalog_wheels import TORCH_NPU, built, pair, wheel

from porter.catalog.make.build import build
from porter.catalog.make.download import check, checksums, record
from porter.catalog.read.load import SECTIONS, Catalogue, load, nearby, nearest, newest, versions
from porter.errors import UserError
from porter.resources import rules_dir
from porter.target import DEFAULT_TORCH_NPU

OLD, NEW = "2.7.1.post11", "2.13.0"


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Catalogue:
    return built(tmp_path_factory.mktemp("wheels"))


# ---- reading wheels


def test_what_every_kind_of_statement_binds(small: Catalogue) -> None:
    assert small.parameters("torch.npu.synchronize") == ("device",)
    assert small.parameters("torch.npu.memory_allocated") == ("device", "*", "unit")  # from .memory import *
    assert small.parameters("torch.npu.reset") == ("*args", "**kwargs")  # __all__ +=
    assert small.parameters("torch_npu.contrib.npu_iou") == ("boxes", "gtboxes", "/", "mode")
    assert small.parameters("torch.npu.sleep") is None and small.has("torch.npu.sleep")  # try: from C, except: def
    assert small.has("torch.npu.set_option") and small.has("torch.npu._lazy_init")
    for name in ("not_exported", "os", "helper", "Never", "TYPE_CHECKING", "_gone", "torch_npu", "no_such_name"):
        assert not small.has(f"torch.npu.{name}"), name


def test_classes(small: Catalogue) -> None:
    assert small.parameters("torch.npu.Stream") == ("device", "priority", "**kwargs")  # __new__
    assert small.parameters("torch.npu.streams.Limit") == ("cube", "vector")  # dataclass
    assert small.has("torch.npu.Stream.device") and small.parameters("torch.npu.Stream.device") is None
    assert small.parameters("torch.npu.Stream.wait_stream") == ("stream",)
    assert small.parameters("torch.npu.amp.GradScaler") == ("device", "init_scale", "enabled")  # torch's __init__
    assert small.has("torch.npu.amp.GradScaler.scale") and small.has("torch.npu.amp.GradScaler.step")


def test_a_class_hides_the_module_it_comes_from(small: Catalogue) -> None:
    assert small.parameters("torch.npu.mstx.range_push") == ("message", "stream")  # a static method: nothing is bound
    assert small.has("torch.npu.mstx.annotate")  # put into the class after it was made
    assert not small.has("torch.npu.mstx.mstx")  # as attributes
    assert small.has("torch_npu.npu.mstx.mstx") and small.has("torch_npu.npu.mstx.annotate")  # as an import
    assert small.has("torch_npu.contrib.marks.range_push")  # imported from the module, not from the class


def test_attributes_that_only_getattr_answers(small: Catalogue) -> None:
    assert small.has("torch.npu.matmul.allow_hf32") and small.has("torch.npu.matmul.cube_math_type")
    assert not small.has("torch.npu.matmul.allow_tf32")


def test_names_nobody_binds(small: Catalogue) -> None:
    assert small.has("torch.npu.FloatTensor") and small.has("torch.cuda.FloatTensor")  # made by the extension library
    assert small.has("torch_npu.HiFloat8Tensor") and small.has("torch_npu.npu_swiglu")  # added at import
    assert not small.has("torch_npu.contrib.fuse_add_softmax_dropout")  # a promise of __all__ that nothing keeps
    assert not small.has("torch_npu._inner.secret.hidden")


def test_prefixes_and_counterparts(small: Catalogue) -> None:
    assert all(small.has(f"{prefix}.synchronize") for prefix in ("torch.npu", "torch_npu.npu", "torch.cuda"))
    modules = ("torch.npu", "torch_npu", "torch.cuda", "torch.npu.amp", "torch_npu.npu.amp")
    assert all(small.has(name) for name in modules)
    assert not small.has("torch.nn") and not small.has("torchvision.npu") and not small.has("torch.npux")
    assert small.counterpart("torch.cuda.memory.memory_allocated") == "torch.npu.memory.memory_allocated"
    assert small.counterpart("torch.cuda.nvtx") is None and small.counterpart("torch.nn.Linear") is None
    assert "torch.cuda.nvtx.range_push" in small.cuda_names() and "torch.cuda.memory" in small.cuda_names()
    assert "torch.npu.Stream.wait_stream" in small.npu_names(members=True)
    assert "torch.npu.Stream.wait_stream" not in small.npu_names()


# ---- building and loading


def catalog(*arguments: str | Path, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "porter", "catalog", *map(str, arguments)],
        env={"PYTHONPATH": str(Path(__file__).parents[2]), **env},
        capture_output=True,
        text=True,
    )


@pytest.mark.slow
def test_same_wheels_same_bytes_whatever_the_hash_seed(tmp_path: Path) -> None:
    pair(tmp_path)
    made = set()
    for seed in ("0", "1", "2"):
        done = catalog(
            "build",
            "--torch-npu",
            "9.1.0.post2",
            "--wheels",
            tmp_path,
            "--output",
            tmp_path / seed,
            PYTHONHASHSEED=seed,
        )
        assert done.returncode == 0, done.stderr
        files = sorted((tmp_path / seed / "torch_npu-9.1.0.post2").iterdir())
        assert [file.name.partition(".")[0] for file in files] == sorted(SECTIONS)
        made.add(tuple(file.read_bytes() for file in files))
    assert len(made) == 1
    files = made.pop()
    assert {data[4:10] for data in files} == {b"\0\0\0\0\x02\xff"}  # no time, no operating system
    assert not any(str(tmp_path).encode() in gzip.decompress(data) for data in files)


@pytest.mark.slow
def test_building_says_what_is_wrong(tmp_path: Path) -> None:
    ours, theirs = pair(tmp_path)
    (tmp_path / "torch_npu-9.3.0-cp311-cp311-linux_x86_64.whl").write_bytes(b"no archive")
    wheel(tmp_path, "torch", "9.3.0", {"torch/__init__.py": ""})
    other = wheel(tmp_path, "torch", "9.2.0", {"torch/__init__.py": ""})
    for version, text in (("9.3.0", "not a readable wheel"), ("9.4.0", "no wheel torch_npu-9.4.0-*.whl in it")):
        done = catalog("build", "--torch-npu", version, "--wheels", tmp_path, "--output", tmp_path / "out")
        assert done.returncode == 2
        assert text in done.stderr and done.stderr.count("\n") == 1 and tmp_path.name in done.stderr
    with pytest.raises(UserError, match="made for another torch than 9.2.0"):
        build(ours, other)
    with pytest.raises(UserError, match="a wheel of torch, not of torch_npu"):
        build(theirs, theirs)
    bare = wheel(tmp_path, "torch_npu", "9.2.0", {"torch_npu/__init__.py": ""})
    with pytest.raises(UserError, match="native_functions.yaml cannot be read"):
        build(bare, other)


def test_a_wheel_is_held_against_its_recorded_checksum(tmp_path: Path) -> None:
    wheels, file = pair(tmp_path), tmp_path / "sources.toml"
    check("9.1.0.post2", wheels, file)  # not listed: nothing to hold it against
    record("10.0.0", wheels, file)
    record("9.1.0.post2", wheels, file)
    check("9.1.0.post2", wheels, file)
    assert list(checksums(file)) == ["9.1.0.post2", "10.0.0"]
    wheel(tmp_path, "torch", "9.1.0", {"torch/__init__.py": "changed = True"})
    with pytest.raises(UserError, match=r"torch-9\.1\.0-.*sha256 .* but sources\.toml lists .*--update-sources"):
        check("9.1.0.post2", wheels, file)


def test_a_changed_wheel_changes_the_file(tmp_path: Path) -> None:
    ours, theirs = pair(tmp_path)
    name = "torch_npu-9.1.0.post2/names.json.gz"
    first = build(ours, theirs)[name]
    more = TORCH_NPU | {"torch_npu/npu/random.py": "def manual_seed(seed):\n    pass\n"}
    second = build(wheel(tmp_path, "torch_npu", "9.1.0.post2", more), theirs)[name]
    before, after = (json.loads(gzip.decompress(data)) for data in (first, second))
    assert before["sources"][0]["sha256"] != after["sources"][0]["sha256"]
    assert after["npu"]["torch_npu.npu.random"] == {"manual_seed": "fseed"}


def test_versions_and_the_nearest(tmp_path: Path) -> None:
    for version in ("2.7.1.post11", "2.7.1.post8", "2.13.0", "2.9.1"):
        (tmp_path / f"torch_npu-{version}").mkdir()
    (tmp_path / "README").touch()
    assert versions(tmp_path) == ["2.7.1.post8", "2.7.1.post11", "2.9.1", "2.13.0"]
    expected = {
        "2.7.1": "2.7.1.post11",  # its newest post release
        "2.7.1+cpu": "2.7.1.post11",
        "2.6": "2.7.1.post11",
        "1.13.1": "2.7.1.post11",
        "2.9.0": "2.9.1",
        "2.8.0": "2.9.1",  # what is written for 2.8 may use what 2.7 lacks
        "2.10.0": "2.13.0",  # 2.9 is nearer
        "2.12": "2.13.0",
        "3.0": "2.13.0",
    }
    assert {torch: nearest(torch, tmp_path) for torch in expected} == expected
    (tmp_path / "torch_npu-trunk").mkdir()
    assert "trunk" not in versions(tmp_path) and nearest("2.7.1", tmp_path) == "2.7.1.post11"
    expected = {
        "2.7": "2.7.1.post11",
        "2.7.1.post8": "2.7.1.post8",
        "2.7.1+cpu": "2.7.1.post11",
        "2.7.1.post9": None,
        "2.7.1rc1": None,
        "2.8": None,
        "trunk": None,
    }
    assert {version: newest(version, tmp_path) for version in expected} == expected
    assert nearby("2.7.1.post9", tmp_path) == ["2.7.1.post8", "2.7.1.post11"]
    assert nearby("3.0", tmp_path) == ["2.13.0"] and nearby("trunk", tmp_path) == []


def test_bad_catalogues_give_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no catalogue of torch_npu 1\.0; there are 2\.1\.0"):
        load("1.0")
    with pytest.raises(UserError, match="no catalogue of any torch_npu version"):
        nearest("2.7.1", tmp_path)
    with pytest.raises(UserError, match="'newest' is no version of torch"):
        nearest("newest")
    for version, data in {
        "1.0": b"not gzip",
        "1.1": gzip.compress(b"not json"),
        "1.2": gzip.compress(b'{"format": 99}'),
    }.items():
        (tmp_path / f"torch_npu-{version}").mkdir()
        (tmp_path / f"torch_npu-{version}" / "names.json.gz").write_bytes(data)
        with pytest.raises(UserError, match=rf"torch_npu-{version}/names\.json\.gz: .*rebuild it") as caught:
            load(version, tmp_path)
        assert "\n" not in str(caught.value)


# ---- the catalogues that are shipped


def test_what_is_shipped() -> None:
    assert {OLD, NEW, DEFAULT_TORCH_NPU} <= set(versions())
    assert nearest("2.7.1") == OLD and nearest("2.13.0") == NEW
    for version in versions():
        catalogue = load(version)
        assert load(version) is catalogue
        assert (catalogue.torch_npu, catalogue.torch) == (version, version.partition(".post")[0])
        assert [source["file"].partition("-")[0] for source in catalogue.sources] == ["torch_npu", "torch"]
        assert all(len(source["sha256"]) == 64 for source in catalogue.sources)
        for section in SECTIONS:
            raw = (rules_dir() / "catalog" / f"torch_npu-{version}" / f"{section}.json.gz").read_bytes()
            assert raw[4:10] == b"\0\0\0\0\x02\xff"
        assert len(catalogue.npu_names(members=True)) > 1_100 and len(catalogue.cuda_names()) > 300


@pytest.mark.parametrize("version", [OLD, NEW])
def test_facts_about_torch_npu(version: str) -> None:
    have = load(version).has
    for name in """synchronize current_device set_device device_count is_available Stream Event Stream.wait_stream
            NPUGraph NPUPluggableAllocator graph make_graphed_callables
            amp amp.GradScaler amp.autocast amp.custom_fwd amp.custom_bwd
            manual_seed_all memory_allocated memory.memory_allocated random.manual_seed streams.Stream FloatTensor
            BFloat16Tensor mem_get_info utilization npurt _lazy_init
            mstx mstx.range_push mstx.range_pop mstx.range_start mstx.range_end mstx.mark mstx.annotate matmul.allow_hf32 conv.allow_hf32 config.allow_internal_format
            set_compile_mode _sanitizer.enable_npu_sanitizer amp.GradScaler.scale amp.GradScaler.step
            get_device_capability is_bf16_supported""".split():
        assert have(f"torch.npu.{name}"), name
    for name in """nvtx nvtx.range_push list_gpu_processes CUDAGraph cudart nccl comm jiterator tunable gds temperature
            memory_usage get_arch_list OutOfMemoryError mstx.mstx mstx.range torch os warnings""".split():
        assert not have(f"torch.npu.{name}"), name
    for name in """npu.amp.GradScaler npu.mstx.annotate npu_rms_norm contrib.npu_iou optim.NpuFusedAdamW
            profiler.profile distributed.is_hccl_available""".split():
        assert have(f"torch_npu.{name}"), name
    assert not have("torch_npu.npu.nvtx") and not have("torch_npu.contrib.fuse_add_softmax_dropout")


@pytest.mark.parametrize("version", [OLD, NEW])
def test_parameters_that_differ(version: str) -> None:
    parameters = load(version).parameters
    assert parameters("torch.cuda.get_device_name") == ("device",)
    assert parameters("torch.npu.get_device_name") == ("device_name",)
    assert parameters("torch.npu.get_device_properties") == ("device_name",)
    assert parameters("torch.npu.can_device_access_peer") == ("device_id", "peer_device_id")
    assert parameters("torch.cuda.nvtx.range_push") == ("msg",)
    assert parameters("torch.npu.mstx.range_push")[0] == "message"
    assert parameters("torch.npu.synchronize") == parameters("torch.cuda.synchronize") == ("device",)
    assert parameters("torch.cuda.amp.GradScaler")[4] == "enabled"
    assert parameters("torch.npu.amp.GradScaler")[4] == "dynamic"
    assert parameters("torch.npu.FloatTensor") is None and parameters("torch.npu.no_such_name") is None


def test_versions_differ() -> None:
    old, new = load(OLD), load(NEW)
    assert old.has("torch.npu.MemPoolContext") and not new.has("torch.npu.MemPoolContext")
    assert old.parameters("torch.npu.memory_snapshot") == ()
    assert new.parameters("torch.npu.memory_snapshot") == ("mempool_id",)
    assert not old.has("torch.cuda.GreenContext") and new.has("torch.cuda.GreenContext")


@pytest.mark.slow
def test_the_static_names_of_torch_are_those_of_a_living_one(needs_torch: None) -> None:
    """What `__all__` of torch.cuda and its submodules lists, where a catalogue of the installed torch is shipped."""
    code = (
        "import importlib, inspect, json, pkgutil, torch, torch.cuda\n"
        "found = {}\n"
        "modules = ['torch.cuda.' + m.name for m in pkgutil.iter_modules(torch.cuda.__path__)]\n"
        "for name in ['torch.cuda', *modules]:\n"
        "    module = importlib.import_module(name)\n"
        "    for key in getattr(module, '__all__', ()):\n"
        "        try:\n"
        "            found[f'{name}.{key}'] = list(inspect.signature(getattr(module, key)).parameters)\n"
        "        except (TypeError, ValueError):\n"
        "            found[f'{name}.{key}'] = None\n"
        "print(json.dumps([torch.__version__, found]))\n"
    )
    env = os.environ | {"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr
    torch, living = json.loads(done.stdout.splitlines()[-1])
    version = nearest(torch)
    if load(version).torch != torch.partition("+")[0]:
        pytest.skip(f"no catalogue is shipped for torch {torch}, which is the installed one")
    catalogue = load(version)
    assert len(living) > 200 and [name for name in living if not catalogue.has(name)] == []
    for name, names in living.items():
        written = catalogue.parameters(name)
        if written is not None and names is not None:
            assert [p.lstrip("*") for p in written if p not in ("*", "/")] == names, name
