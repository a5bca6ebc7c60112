"""Traces of torch.profiler and trace_view.json alone: what a device did, in bounded memory."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from drawn import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from profiles_world import event, process, trace

from porter.profiles import intervals
from porter.profiles.find import read_run
from porter.profiles.hostops import HostOps
from porter.profiles.intervals import Busy, total
from porter.profiles.model import Profile
from porter.profiles.stacks import frames
from porter.profiles.stream import events
from porter.profiles.sums import operators
from porter.profiles.trace import nanoseconds

GEMM = "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn"
SUM = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def read(path: Path) -> Profile:
    (profile,) = read_run(str(path)).profiles
    return profile


def gpu_events() -> list[dict[str, object]]:
    """Two steps of 100 us. Computing 10-40, 30-60 (two streams), 120-130; talking 50-80, 120-125; a copy 90-95."""
    return [
        event("ProfilerStep#7", 0, 100, "user_annotation"),
        event("ProfilerStep#8", 100, 100, "user_annotation"),
        event("ProfilerStep#8", 100, 80, "gpu_user_annotation"),
        event("aten::mm", 1, 5, "cpu_op", args={"External id": 11}),
        event("aten::add", 7, 2, "cpu_op", args={"External id": 12}),
        event(GEMM, 10, 30, "kernel", args={"External id": 11, "stream": 7}),
        event(GEMM, 30, 30, "kernel", args={"External id": 11, "stream": 9}),
        event(GEMM, 195, 20, "kernel", args={"External id": 11}),  # 15 of them after the last step
        event("void at::native::vectorized_elementwise_kernel<4>", 120, 10, "kernel", args={"External id": 12}),
        event(SUM, 50, 30, "kernel", args={"External id": 13}),
        event(SUM, 120, 5, "kernel", args={"External id": 13}),
        event("Memcpy HtoD (Pinned -> Device)", 90, 5, "gpu_memcpy", args={"External id": 99}),
        event("cudaDeviceSynchronize", 140, 33, "cuda_runtime"),
        event("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 100, 9, "user_annotation"),
    ]


def test_a_gpu(tmp_path):
    profile = read(trace(tmp_path / "t.json", gpu_events(), distributedInfo={"rank": 3, "world_size": 8}))
    assert (profile.device, profile.origin.rank, profile.steps) == ("gpu", 3, 2)
    parts = profile.parts
    assert parts.computing == 50 + 10 + 5  # 10-60, 120-130, and 195-200 of the last
    assert parts.exposed == 20 and parts.overlapped == 10 + 5  # 60-80 alone; 50-60 and 120-125 hidden
    assert parts.free == 200 - 65 - 20 and parts.copies == 5
    assert profile.total == 200
    assert profile.origin.notes == [("around", {"time": 0.015 * 1000})]
    assert {row.name: (row.count, row.time) for row in profile.kernels.values()} == {
        GEMM: (3, 80.0),
        "void at::native::vectorized_elementwise_kernel<4>": (1, 10.0),
        SUM: (2, 35.0),
        "Memcpy HtoD (Pinned -> Device)": (1, 5.0),
    }
    assert {name: op.device for name, op in profile.torch.items()} == {"aten::mm": 80.0, "aten::add": 10.0}
    assert profile.host.apis["cudaDeviceSynchronize"].time == 33
    assert profile.host.loading.time == 9


def test_categories_as_older_versions_wrote_them(tmp_path):
    rows = [
        event("aten::mm", 1, 5, "Operator", args={"External id": 11}),
        event("volta_sgemm_128x64_nn", 10, 30, "Kernel", args={"external id": 11}),
        event("Memcpy DtoH", 50, 4, "Memcpy"),
        event("cudaLaunchKernel", 2, 3, "Runtime"),
    ]
    profile = read(trace(tmp_path / "t.json", rows))
    assert (profile.device, profile.parts.computing, profile.total) == ("gpu", 30, 44)
    assert profile.torch["aten::mm"].device == 30


def test_the_host_alone(tmp_path):
    rows = [
        event("ProfilerStep#1", 0, 100, "user_annotation"),
        event("aten::linear", 10, 50, "cpu_op"),
        event("aten::addmm", 12, 40, "cpu_op"),
        event("aten::copy_", 14, 5, "cpu_op"),
        event("aten::copy_", 20, 6, "cpu_op"),
        event("aten::relu", 15, 30, "cpu_op", tid=2),  # of another thread
    ]
    profile = read(trace(tmp_path / "t.json", rows[::-1]))
    assert profile.device == "cpu" and profile.total == 100 and profile.parts.total is None
    own = {row.name: (row.count, row.time) for row in operators(profile)}
    assert own == {
        "aten::addmm": (1, 29.0),
        "aten::relu": (1, 30.0),
        "aten::copy_": (2, 11.0),
        "aten::linear": (1, 10.0),
    }


def test_an_npu_by_its_trace_alone(tmp_path):
    rows = [
        event("ProfilerStep#1", "1704161511420300.000", 100, "cpu_op"),
        event("Computing", "1704161511420306.491", 30.5, pid=8),
        event("Communication", "1704161511420306.491", 20, pid=8),
        event("Communication(Not Overlapped)", "1704161511420306.491", 12, pid=8),
        event("Free", "1704161511420306.491", 57.5, pid=8),
        event("Computing", 0, 777, pid=3),  # somebody's own range
        event("aclnnMm_MatMulCommon_MatMulV2", 0, 20, pid=5, args={"Task Type": "AI_CORE"}),
        event("aclnnCast_CastAiCore_Cast", 0, 4, pid=5, args={"Task Type": "Other"}),
        event("EVENT_WAIT", 0, 500, pid=5, args={"Task Type": "EVENT_WAIT"}),
        event("MEMCPY_ASYNC", 0, 500, pid=5, args={"Task Type": "Other"}),
        event("AscendCL@aclrtSynchronizeStream", 0, 40, pid=6),
        process(8, "Overlap Analysis"),
        process(5, "Ascend Hardware"),
    ]
    (tmp_path / "trace_view.json").write_text(json.dumps(rows))
    profile = read(tmp_path / "trace_view.json")
    parts = profile.parts
    assert profile.device == "npu" and profile.steps == 1
    assert (parts.computing, parts.exposed, parts.overlapped, parts.free) == (30.5, 12, 8, 57.5)
    assert {key: row.time for key, row in profile.kernels.items()} == {("MatMulV2", "AI_CORE"): 20, ("Cast", ""): 4}
    assert profile.host.apis["aclrtSynchronizeStream"].time == 40


def test_a_folder_of_tensorboard(tmp_path):
    for worker, stamp, steps in (("a", 1700000000001, 1), ("a", 1700000000002, 2), ("b", 1700000000003, 1)):
        rows = [event(f"ProfilerStep#{n}", 100 * n, 100, "user_annotation") for n in range(steps)]
        rows.append(event(GEMM, 10, 20, "kernel"))
        (tmp_path / f"{worker}.{stamp}.pt.trace.json.gz").write_bytes(
            gzip.compress(json.dumps({"traceEvents": rows}).encode())
        )
    (tmp_path / "config.json").write_text('{"lr": 1}')
    run = read_run(str(tmp_path))
    assert [(profile.name, profile.steps) for profile in run.profiles] == [
        ("a.1700000000002.pt.trace.json.gz", 2),
        ("b.1700000000003.pt.trace.json.gz", 1),
    ]
    assert run.left_out == ("a.1700000000001.pt.trace.json.gz",)


def test_events_without_a_time_are_counted(tmp_path):
    rows = [
        event(GEMM, 10, 20, "kernel"),
        event(GEMM, "soon", 20, "kernel"),
        event(GEMM, 10, -5, "kernel"),
        {"ph": "X"},
    ]
    profile = read(trace(tmp_path / "t.json", [*rows, "no event", event(GEMM, 1e300, 1, "kernel")]))
    assert profile.origin.notes == [("odd", {"n": 3})]
    assert profile.kernels[GEMM, ""].time == 20


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("1704161511420306.491", 1704161511420306491),
        ("12.7705", 12771),
        ("-0.25", -250),
        ("7", 7000),
        ("1e-05", 0),
        ("1.5e2", 150000),
        (12, 12000),
        (True, None),
        (None, None),
        ("nan", None),
        ("1e400", None),
        (10**30, None),
    ],
)
def test_times_lose_no_digit(value, expected):
    assert nanoseconds(value) == expected


def test_the_frames_of_a_stack():
    stack = "/repo/a b/model.py(45): forward;\r\n<built-in method mm>;\r\n/repo/train.py(9): <module>"
    assert list(frames(stack)) == [("/repo/a b/model.py", 45, "forward"), ("/repo/train.py", 9, "<module>")]


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.tuples(st.integers(0, 300), st.integers(-3, 40)), max_size=40))
def test_a_union_is_what_is_covered(spans):
    busy = Busy()
    covered = set()
    for start, length in spans:
        busy.add(start, start + length)
        covered |= set(range(start, start + length))
    assert total(busy.pairs()) == len(covered)


def test_too_many_intervals_close_the_smallest_gaps(monkeypatch):
    monkeypatch.setattr(intervals, "MOST", 64)
    busy = Busy()
    for n in range(1000):
        busy.add(10_000 * n, 10_000 * n + 9_000)
    pairs = busy.pairs()
    assert len(pairs) <= 64
    assert total(pairs) - busy.closed == 1000 * 9_000


def test_host_operators_beyond_what_is_held_are_counted(monkeypatch):
    monkeypatch.setattr("porter.profiles.hostops.MOST", 2)
    held = HostOps()
    for n in range(5):
        held.add(1, 0, n, n + 1)
    assert held.missed == 3 and [call.time for call in held.calls()] == [1, 1]


def test_the_lines_that_call(tmp_path):
    """With stacks: the innermost frame of the program first; those of libraries are left out."""
    rows = [
        event("ProfilerStep#1", 0, 100, "user_annotation"),
        event("train.py(9): main", 0, 99, "python_function"),
        event("/repo/model.py(45): forward", 10, 40, "python_function"),
        event("torch/nn/functional.py(7): linear", 11, 38, "python_function"),
        event("aten::linear", 12, 30, "cpu_op", args={"External id": 1}),
        event("aten::mm", 14, 20, "cpu_op", args={"External id": 2}),
        event("aten::mm", 60, 5, "cpu_op", args={"External id": 3}),
        event("aten::mm", 61, 5, "cpu_op", args={"External id": 4}, tid=2),
    ]
    host = read(trace(tmp_path / "cpu.json", rows))
    both, main = "/repo/model.py(45): forward;train.py(9): main", "train.py(9): main"
    assert host.torch["aten::linear"].stacks == {both: 10.0}
    assert host.torch["aten::mm"].stacks == {both: 20.0, main: 5.0}
    kernels = [
        event(GEMM, 70, 8, "kernel", args={"External id": 2}),
        event(GEMM, 80, 2, "kernel", args={"External id": 3}),
    ]
    device = read(trace(tmp_path / "gpu.json", rows + kernels))
    mm = device.torch["aten::mm"]
    assert (mm.count, mm.time, mm.device, mm.stacks) == (3, 30.0, 10.0, {both: 8.0, main: 2.0})


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


@pytest.mark.slow
@settings(max_examples=examples(40), deadline=None)
@given(st.lists(st.dictionaries(st.text(max_size=5), JSON, max_size=4), max_size=12), st.integers(3, 40), st.booleans())
def test_pieces_of_any_size_give_the_same_events(tmp_path_factory, rows, piece, bare):
    file = tmp_path_factory.mktemp("stream") / "t.json"
    document = rows if bare else {"a": [1, {"b": 2}], "traceEvents": rows, "z": "end"}
    file.write_text(json.dumps(document, indent=1), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("porter.profiles.stream.PIECE", piece)
        found = list(events(str(file), {}))
    assert found == json.loads(json.dumps(rows), parse_float=str)
