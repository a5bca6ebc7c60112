"""What changed between two profiles, what ranks say together, and what to do next: with numbers, or not at all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from profiles_world import API, KERNEL, OPERATOR, STEP, collective, event, kernel, step, table, trace

from porter.advice.load import advice
from porter.profiles import compared
from porter.profiles.document import document
from porter.profiles.find import Run, read_run
from porter.profiles.signs import ABOUT, signs
from porter.profiles.sums import shown_profile
from porter.rulebook.texts import Texts

OUTPUT = "ASCEND_PROFILER_OUTPUT"


def npu(folder: Path, steps: list[dict[str, object]], kernels: list[dict[str, object]] = []) -> Run:
    table(folder / OUTPUT, "step_trace_time.csv", STEP, steps)
    if kernels:
        table(folder / OUTPUT, "kernel_details.csv", KERNEL, kernels)
    return read_run(str(folder))


def cast(number: int, time: float, core: str = "AI_VECTOR_CORE") -> dict[str, object]:
    return kernel(number, "Cast1", "Cast", core, time, "8")


def test_kinds_and_operators_of_two_npus(tmp_path):
    before = npu(tmp_path / "a", [step(1, 900, 0, 100)], [cast(1, 100), kernel(1, "Add1", "Add", "AI_VECTOR_CORE", 50)])
    twice = [step(1, 900, 0, 100), step(2, 900, 0, 100)]
    after = npu(tmp_path / "b", twice, [cast(1, 300), cast(2, 500), cast(2, 6, "AI_CPU")])
    one, other = shown_profile(before), shown_profile(after)
    assert [(p.name, p.calls, p.times) for p in compared.kinds(one, other)] == [
        ("cast", (1, 1.5), (100, 403)),
        ("elementwise", (1, 0), (50, 0)),
    ]
    assert [(p.name, p.change) for p in compared.same_operators(one, other)] == [
        ("Cast", 300.0),
        ("Add", -50.0),
        ("Cast (AI_CPU)", 3.0),
    ]


def test_across_makers_only_what_can_be_matched(tmp_path):
    rows = [
        event("ProfilerStep#1", 0, 1000, "user_annotation"),
        event("aten::to", 1, 1, "cpu_op", args={"External id": 5}),
        event(
            "void at::native::unrolled_elementwise_kernel<direct_copy_kernel_cuda>",
            10,
            40,
            "kernel",
            args={"External id": 5},
        ),
    ]
    gpu = shown_profile(read_run(str(trace(tmp_path / "gpu.json", rows))))
    folder = tmp_path / "npu"
    transdata = kernel(1, "TransData2", "TransData", "AI_VECTOR_CORE", 30)
    run = npu(folder, [step(1, 900, 0, 100)], [cast(1, 100), transdata])
    ops = [{"Name": "aten::to", "Host Self Duration(us)": 4.0, "Device Self Duration(us)": 130.0}]
    table(folder / OUTPUT, "operator_details.csv", OPERATOR, ops)
    other = shown_profile(read_run(str(folder)))
    assert [(p.name, p.times) for p in compared.kinds(gpu, other)] == [("copy", (40, 130))]
    assert [(p.name, p.times) for p in compared.torch_operators(gpu, other)] == [("aten::to", (40, 130))]
    assert compared.same_operators(gpu, other) == []
    assert compared.torch_operators(gpu, shown_profile(run)) == []  # read before: no operators of torch


def ranked(folder: Path, steps: dict[int, tuple[float, float, float]]) -> Run:
    for rank, (computing, exposed, free) in steps.items():
        one = folder / f"w{rank}_ascend_pt"
        table(one / OUTPUT, "step_trace_time.csv", STEP, [step(1, computing, exposed, free)])
        (one / f"profiler_info_{rank}.json").write_text("{}")
    return read_run(str(folder))


def test_linearity_of_one_card_and_four(tmp_path):
    one = ranked(tmp_path / "one", {0: (800, 0, 0)})
    four = ranked(tmp_path / "four", {0: (600, 300, 90), 1: (800, 100, 100), 2: (790, 100, 100), 3: (780, 110, 100)})
    found = compared.linearity(one, four)
    assert (found.cards, found.times, found.efficiency) == ((1, 4), (800, 1000), 0.8)
    assert compared.linearity(four, one).efficiency == 0.8
    assert compared.linearity(four, four) is None


def test_the_rank_that_others_wait_for(tmp_path):
    run = ranked(tmp_path, {0: (500, 450, 50), 1: (800, 100, 100)})
    (apart,) = [sign for sign in signs(run) if sign.key == "apart"]
    assert (apart.time, apart.share, apart.values) == (350, 0.35, {"slow": "1", "quick": "0"})
    even = ranked(tmp_path / "even", {0: (800, 100, 100), 1: (810, 90, 100)})
    assert "apart" not in [sign.key for sign in signs(even)]


def test_signs_have_the_share_of_the_step_and_come_in_its_order(tmp_path):
    kernels = [
        kernel(1, "MatMul1", "MatMulV2", "AI_CORE", 200, "64,32;32,10", types="FLOAT;FLOAT"),
        kernel(1, "Softmax1", "SoftmaxV2", "AI_VECTOR_CORE", 30, "8"),
        kernel(1, "TransData1", "TransData", "AI_VECTOR_CORE", 50, "8"),
        cast(1, 20),
        kernel(1, "Cast1", "Cast", "AI_CPU", 15, "8", types="DOUBLE"),
    ]
    folder = tmp_path
    table(
        folder / OUTPUT, "api_statistic.csv", API, [{"API Name": "aclrtSynchronizeStream", "Time(us)": 9, "Count": 4}]
    )
    links = {"HCCS": (40.0, 1.0, {"4.0": [4, 1.0], "24.0": [1, 1.0]})}
    times = {"step1": {"collective": {"hcom_allReduce__1_0@1": collective(0.4, 0.1, 0.3, links)}}}
    (folder / OUTPUT / "communication.json").write_text(json.dumps(times))
    rows = [event("enumerate(DataLoader)#x", 0, 80, "cpu_op")]
    (folder / OUTPUT / "trace_view.json").write_text(json.dumps(rows))
    run = npu(folder, [step(1, 500, 100, 400)], kernels)
    found = {sign.key: (sign.time, round(sign.share, 3)) for sign in signs(run)}
    assert found == {
        "free": (400, 0.4),
        "single": (200, 0.2),
        "uneven": (200, 0.2),
        "exposed": (100, 0.1),
        "loading": (80, 0.08),
        "conversion": (50, 0.05),
        "softmax": (30, 0.03),
        "cast": (20, 0.02),
        "aicpu": (15, 0.015),
    }
    assert list(found) == sorted(found, key=lambda key: (-found[key][1], key))
    values = {sign.key: sign.values for sign in signs(run)}
    assert values["free"] == {"n": 4.0, "names": "aclrtSynchronizeStream", "with": "waits"}
    assert values["exposed"] == {"wait": 0.75, "small": 0.4, "with": "links"}
    assert values["aicpu"] == {"n": 1.0, "names": "Cast (DOUBLE)"}


def test_shapes_that_change_and_many_kernels_of_the_optimiser(tmp_path):
    kernels = [kernel(n, "Add1", "Add", "AI_VECTOR_CORE", 40, f"8,{n}") for n in (1, 2, 3)]
    kernels += [kernel(n, "Adam1", "ApplyAdamW", "AI_VECTOR_CORE", 1, "8") for n in (1, 2, 3) for _ in range(201)]
    run = npu(tmp_path, [step(n, 1000, 0, 0) for n in (1, 2, 3)], kernels)
    found = {sign.key: (sign.time, sign.values["n"]) for sign in signs(run)}
    assert found == {"fresh": (pytest.approx(80 / 3), 1.0), "optimizer": (201, 201)}


def test_compiling_is_told_for_each_step(tmp_path):
    calls = [{"API Name": "aclopCompileAndExecute", "Time(us)": 400, "Count": 6}]
    table(tmp_path / OUTPUT, "api_statistic.csv", API, calls)
    run = npu(tmp_path, [step(1, 1000, 0, 0), step(2, 1000, 0, 0)])
    assert [(sign.key, sign.time, sign.share, sign.values["n"]) for sign in signs(run)] == [("compiled", 200, 0.2, 3)]


def test_nothing_is_said_without_a_number(tmp_path):
    quiet = npu(tmp_path / "quiet", [step(1, 1000, 10, 20)])
    assert signs(quiet) == []
    gpu = read_run(str(trace(tmp_path / "gpu.json", [event("gemm", 10, 30, "kernel"), event("gemm", 90, 1, "kernel")])))
    assert signs(gpu) == []  # advice is about NPUs


def test_without_a_step_shares_are_of_what_computes(tmp_path):
    table(
        tmp_path / OUTPUT, "kernel_details.csv", KERNEL, [cast(1, 30), kernel(1, "MatMul1", "MatMulV2", "AI_CORE", 70)]
    )
    (sign,) = signs(read_run(str(tmp_path)))
    assert (sign.key, sign.share) == ("cast", 0.3)
    assert document([read_run(str(tmp_path))], "1", "en")["profiles"][0]["step"]["share_of"] == "kernels"


def test_what_signs_name_is_known():
    known = {row["id"] for row in advice()["advice"]}
    codes = Texts().codes()
    for key, about in ABOUT.items():
        assert set(about.advice) <= known, key
        assert all(code in codes for code in about.codes), key
