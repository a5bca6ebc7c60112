"""ASCEND_PROFILER_OUTPUT: every table, in the columns of several versions; each figure is worked out here anew."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from profiles_world import (
    API,
    BASE_KERNEL,
    KERNEL,
    OLD_STEP,
    OPERATOR,
    STATISTIC,
    STEP,
    collective,
    event,
    kernel,
    process,
    step,
    table,
)

from porter.profiles.find import read_run
from porter.profiles.kernels import is_uneven, type_of
from porter.profiles.kinds import KINDS, across, kind_of
from porter.profiles.model import Profile
from porter.profiles.signs import signs
from porter.profiles.sums import formula, operators, tallies

OUTPUT = "ASCEND_PROFILER_OUTPUT"


def read(folder: Path) -> Profile:
    (profile,) = read_run(str(folder)).profiles
    return profile


@pytest.mark.parametrize("header", [STEP, OLD_STEP])
def test_the_formula_is_of_one_step(tmp_path, header):
    rows = [step(1, 700.5, 40.0, 259.5, overlapped=12.0), step(2, 800.5, 60.0, 139.5, overlapped=8.0)]
    rows = [{key: value for key, value in row.items() if key in header} for row in rows]
    table(tmp_path / OUTPUT, "step_trace_time.csv", header, rows)
    profile = read(tmp_path)
    assert profile.steps == 2
    assert profile.per_step(profile.total) == pytest.approx((700.5 + 40 + 259.5 + 800.5 + 60 + 139.5) / 2)
    parts = {part.key: (part.time, part.share) for part in formula(profile)}
    assert parts["computing"] == pytest.approx((750.5, 1501 / 2000))
    assert parts["communication"] == pytest.approx((50.0, 100 / 2000))
    assert parts["scheduling"] == pytest.approx((199.5, 399 / 2000))
    assert parts["overlapped"] == pytest.approx((10.0, 20 / 2000))
    assert parts["loading"] == parts["model"] == parts["after"] == (None, None)


def test_steps_that_are_not_told_apart(tmp_path):
    table(tmp_path / OUTPUT, "step_trace_time.csv", STEP, [step("", 10.0, 0.0, 30.0)])
    profile = read(tmp_path)
    assert (profile.steps, profile.per_step(profile.total)) == (0, 40.0)


def test_kernels_by_type_core_and_step(tmp_path):
    table(tmp_path / OUTPUT, "step_trace_time.csv", STEP, [step(4, 600.0, 0.0, 0.0), step(5, 600.0, 0.0, 0.0)])
    rows = [
        kernel(4, "aclnnMatmul_MatMulCommon_MatMulV2", "MatMulV2", "AI_CORE", 100.25, "64,32;32,16", wait=2.5),
        kernel(5, "aclnnMatmul_MatMulCommon_MatMulV2", "MatMulV2", "AI_CORE", 200.25, "64,32;32,10", wait=1.5),
        kernel(5, "trans_Cast_5", "Cast", "AI_CPU", 50.0, "8"),
        kernel(5, "Cast6", "Cast", "AI_VECTOR_CORE", 30.0, "8"),
        kernel(4, "hcom_allReduce__445_0", "hcom_allReduce_", "HCCL", 90.0, wait=70.0),
        kernel("", "Cast7", "Cast", "AI_VECTOR_CORE", 1000.0, "8"),  # outside of the steps
    ]
    table(tmp_path / OUTPUT, "kernel_details.csv", KERNEL, rows)
    profile = read(tmp_path)
    found = {key: (row.count, row.time, row.kind, row.shapes) for key, row in profile.kernels.items()}
    assert found == {
        ("MatMulV2", "AI_CORE"): (2, 300.5, "matmul", 2),
        ("Cast", "AI_CPU"): (1, 50.0, "cast", 1),
        ("Cast", "AI_VECTOR_CORE"): (1, 30.0, "cast", 1),
        ("hcom_allReduce_", "HCCL"): (1, 90.0, "communication", 0),
    }
    assert profile.origin.notes == [("outside", {"n": 1, "time": 1000.0})]
    assert (profile.waits.count, profile.waits.time, profile.waits.most) == (4, 4.0, 2.5)
    matmul = profile.kernels["MatMulV2", "AI_CORE"]
    assert (matmul.fresh.count, matmul.fresh.time) == (1, 200.25)  # the shape of step 5 was not in step 4
    assert (matmul.uneven, matmul.single) == (200.25, 0.0)
    assert matmul.types == {} and list(profile.kernels["Cast", "AI_CPU"].types) == ["DT_BF16"]
    parts = {part.key: part.time for part in formula(profile)}
    assert parts["aicpu"] == 25.0
    kinds = tallies(operators(profile), "kind")
    assert {kind: tally.time for kind, tally in kinds.items()} == {"matmul": 300.5, "communication": 90.0, "cast": 80.0}


def test_kernels_of_the_lowest_level_have_no_type(tmp_path):
    rows = [
        {"Name": "aclnnMatmul_MatMulCommon_MatMulV2", "Type": "N/A", "Accelerator Core": "N/A", "Duration(us)": 420.5},
        {"Name": "aclnnCast_CastAiCore_Cast", "Type": "N/A", "Accelerator Core": "N/A", "Duration(us)": 7.8},
    ]
    table(tmp_path / OUTPUT, "kernel_details.csv", BASE_KERNEL, rows)
    profile = read(tmp_path)
    assert {key: row.kind for key, row in profile.kernels.items()} == {("MatMulV2", ""): "matmul", ("Cast", ""): "cast"}
    assert (profile.steps, profile.total) == (0, None)


def test_the_statistic_counts_where_kernels_were_cut(tmp_path):
    statistic = [
        {"OP Type": "MatMulV2", "Core Type": "AI_CORE", "Count": 10, "Total Time(us)": 500.0, "Max Time(us)": 80.0},
        {"OP Type": "Cast", "Core Type": "AI_VECTOR_CORE", "Count": 5, "Total Time(us)": 25.0, "Max Time(us)": 9.0},
    ]
    table(tmp_path / OUTPUT, "op_statistic.csv", STATISTIC, statistic)
    alone = read(tmp_path)
    assert {row.name: (row.count, row.time, row.most) for row in alone.kernels.values()} == {
        "MatMulV2": (10, 500.0, 80.0),
        "Cast": (5, 25.0, 9.0),
    }
    table(tmp_path / OUTPUT, "kernel_details.csv", KERNEL[1:], [{"Name": "Cast1", "Type": "Cast", "Duration(us)": 3.0}])
    cut = read(tmp_path)
    assert sum(row.count for row in cut.kernels.values()) == 15
    assert cut.origin.notes == [("cut", {"n": 1, "all": 15})]


def test_kernels_of_the_steps_count_though_the_statistic_has_more(tmp_path):
    table(tmp_path / OUTPUT, "kernel_details.csv", KERNEL, [kernel(1, "Cast1", "Cast", "AI_VECTOR_CORE", 3.0)])
    row = {"OP Type": "Cast", "Core Type": "AI_VECTOR_CORE", "Count": 9, "Total Time(us)": 27.0}
    table(tmp_path / OUTPUT, "op_statistic.csv", STATISTIC, [row])
    assert read(tmp_path).kernels["Cast", "AI_VECTOR_CORE"].time == 3.0


def test_calls_of_the_host_and_operators_of_torch(tmp_path):
    api = [
        {"API Name": "aclrtSynchronizeStream", "Time(us)": 900.0, "Count": 3, "Max(us)": 400.0, "Device_id": "host"},
        {"API Name": "aclrtSynchronizeStream", "Time(us)": 100.0, "Count": 1, "Max(us)": 100.0},
        {"API Name": "launch", "Time(us)": 5.0, "Count": 2},
    ]
    table(tmp_path / OUTPUT, "api_statistic.csv", API, api)
    stack = "/repo/model.py(45): forward;\r\n/repo/train.py(9): main"
    ops = [
        {"Name": "aten::mm", "Call Stack": stack, "Host Self Duration(us)": 4.0, "Device Self Duration(us)": 50.0},
        {"Name": "aten::mm", "Call Stack": stack, "Host Self Duration(us)": 6.0, "Device Self Duration(us)": 70.0},
        {"Name": "aten::add", "Call Stack": "N/A", "Host Self Duration(us)": 1.0, "Device Self Duration(us)": 0},
    ]
    table(tmp_path / OUTPUT, "operator_details.csv", OPERATOR, ops)
    profile = read(tmp_path)
    waits = profile.host.apis["aclrtSynchronizeStream"]
    assert (waits.count, waits.time, waits.most) == (4, 1000.0, 400.0)
    mm = profile.torch["aten::mm"]
    assert (mm.count, mm.time, mm.device, mm.stacks) == (2, 10.0, 120.0, {stack: 120.0})
    assert profile.torch["aten::add"].stacks == {}
    assert operators(profile) == []  # kernels are not in this profile, and operators of torch do not stand for them


def test_collectives_and_links(tmp_path):
    links = {"HCCS": (30.0, 2.0, {"20.0": [1, 1.0], "10.0": [1, 1.0]}), "RDMA": (0, 0, {})}
    more = {"HCCS": (10.0, 2.0, {"10.0": [1, 2.0]})}
    document = {
        "step1": {
            "p2p": {"hcom_send__12_0@77": collective(1.0, 0.5, 0.25, {})},
            "collective": {
                "hcom_allReduce__445_0@77": collective(5.0, 3.0, 2.0, links),
                "Total Op Info": collective(99.0, 99.0, 99.0, links),
            },
        },
        "step2": {"p2p": {}, "collective": {"hcom_allReduce__445_1@77": collective(7.0, 3.0, 4.0, more)}},
    }
    folder = tmp_path / OUTPUT
    folder.mkdir()
    (folder / "communication.json").write_text(json.dumps(document))
    profile = read(tmp_path)
    found = {name: (one.count, one.time, one.transit, one.wait) for name, one in profile.collectives.items()}
    assert found == {"hcom_send": (1, 1000.0, 500.0, 250.0), "hcom_allReduce": (2, 12000.0, 6000.0, 6000.0)}
    hccs = profile.links["HCCS"]
    assert (hccs.size, hccs.time, hccs.packets) == (40.0, 4.0, {20.0: 1, 10.0: 2})


def test_a_trace_beside_the_tables_says_what_they_do_not(tmp_path):
    table(tmp_path / OUTPUT, "step_trace_time.csv", STEP, [step(1, 10.0, 0.0, 30.0)])
    events = [
        process(9, "Overlap Analysis"),
        event("Computing", 0, 999.0, pid=9),  # the table has it already
        event("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", "1704161511420306.491", 7.5, "cpu_op"),
        event("Optimizer.step#AdamW.step", "1704161511420406.491", 2.25, "user_annotation"),
        event("aten::mm", 1, 1.0, "cpu_op"),
    ]
    (tmp_path / OUTPUT / "trace_view.json").write_text(json.dumps(events))
    profile = read(tmp_path)
    assert (profile.parts.computing, profile.total) == (10.0, 40.0)
    assert (profile.host.loading.time, profile.host.optimizer.time) == (7.5, 2.25)
    assert profile.torch == {}


def test_ranks_and_their_numbers(tmp_path):
    for rank, time in ((0, 50.0), (1, 90.0), (10, 60.0)):
        folder = tmp_path / f"host_{rank}_20251126_ascend_pt"
        table(folder / OUTPUT, "step_trace_time.csv", STEP, [step(1, time, 0.0, 0.0)])
        (folder / f"profiler_info_{rank}.json").write_text("{}")
    again = tmp_path / "host_1_20251125_ascend_pt"
    table(again / OUTPUT, "step_trace_time.csv", STEP, [step(1, 1.0, 0.0, 0.0)])
    (again / "profiler_info_1.json").write_text("{}")
    run = read_run(str(tmp_path))
    assert [(profile.origin.rank, profile.total) for profile in run.profiles] == [(0, 50.0), (1, 90.0), (10, 60.0)]
    assert run.left_out == ("host_1_20251125_ascend_pt",)


@pytest.mark.parametrize(
    ("name", "type"),
    [
        ("aclnnMatmul_MatMulCommon_MatMulV2", "MatMulV2"),
        ("MatMulV253", "MatMulV2"),
        ("Conv2D1", "Conv2D"),
        ("trans_Cast_5", "Cast"),
        ("ApplyAdamW183", "ApplyAdamW"),
        ("atomic_memset-1_166_2208226_16_0", "memset"),
        ("17", "17"),
    ],
)
def test_the_type_in_a_name(name, type):
    assert type_of(name) == type


@pytest.mark.parametrize(
    ("names", "kind"),
    [
        ("AllGatherMatmulV2 MatMulV2 BatchMatMulV3 GroupedMatmul aten::addmm ampere_bf16_s16816gemm_128x128_tn nvjet_hsh_128x64", "matmul"),
        ("Conv2D Conv3DBackpropFilter aten::convolution_backward implicit_convolve_sgemm sm80_xmma_fprop_implicit_gemm_bf16", "convolution"),
        ("FlashAttentionScore FlashAttentionScoreGrad pytorch_flash::flash_fwd_kernel aten::_scaled_dot_product_flash_attention fmha_cutlassF_bf16", "attention"),
        ("LayerNormV3 RmsNorm BNTrainingUpdate aten::native_batch_norm cudnn::bn_fw_tr_1C11_kernel_NCHW", "norm"),
        ("SoftmaxV2 SoftmaxGrad aten::_softmax cunn_SoftMaxForward", "softmax"),
        ("ApplyAdamW ForeachAddcmulList aten::_foreach_add_ multi_tensor_apply_kernel", "optimizer"),
        ("hcom_allReduce_ allreduceAicpuKernel ncclDevKernel_AllReduce_Sum_bf16_RING_LL c10d::allreduce_ _c10d_functional::all_reduce AlltoAll nccl:all_reduce", "communication"),
        ("TransData NchwToNhwc nchwToNhwcKernel", "conversion"),
        ("Cast aten::to aten::_to_copy", "cast"),
        ("Transpose AsStrided aten::contiguous", "transpose"),
        ("TensorMove MemSet BroadcastTo Memcpy ConcatD aten::copy_ aten::clone", "copy"),
        ("GatherV2 ScatterElements NonZero aten::index_select IndexPutV2 TopKV2", "index"),
        ("DropOutDoMask DSAStatelessGenBitMask aten::native_dropout", "random"),
        ("ReduceSum LpNormReduceV2 ArgMaxV2 aten::sum", "reduction"),
        ("Add Muls RealDiv aten::mul_ SwiGlu aten::gelu vectorized_elementwise_kernel", "elementwise"),
        ("triton_poi_fused_add_native_layer_norm_0", "compiled"),
        ("aten::empty SomethingElse", "other"),
    ],
)  # fmt: skip
def test_kinds(names, kind):
    assert {name: kind_of(name) for name in names.split()} == dict.fromkeys(names.split(), kind)
    assert across(kind) in KINDS


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl_nocast<at::native::CUDAFunctor_add<float> >(", "elementwise"),
        ("void at::native::unrolled_elementwise_kernel<at::native::CUDAFunctor_add<float>, 4, at::native::memory::LoadWithCast<2>", "elementwise"),
        ("void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}", "cast"),
        ("void at::native::(anonymous namespace)::GammaBetaBackwardCUDAKernelTemplate<float, float, 32u, 8u, 64u>(long, long)", "norm"),
        ("void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl_nocast<at::native::direct_copy_kernel_cuda(", "copy"),
        ("at::native::amp_update_scale_cuda_kernel(float*, int*, float const*, double, double, int)", "optimizer"),
        ("void cudnn::engines_precompiled::scalePackedTensor_kernel<float, float>(long, float*, float)", "convolution"),
        ("void cudnn::fusion::compute_dot_do_o<true>(void const*, void const*, void*)", "attention"),
        ("void cudnn::fusion::convert_dq_to_16bits<true>(void const*, void*, unsigned int)", "attention"),
    ],
)  # fmt: skip
def test_kinds_of_kernels_as_a_gpu_names_them(name, kind):
    assert kind_of(name) == kind


def test_sizes_that_do_not_fill_the_matrix_unit():
    assert not is_uneven('"4096,1024;1024,16"')
    assert is_uneven('"4096,1000;1000,16"') and is_uneven('"64,64;64,10"')
    assert not is_uneven('"3,64,64;3,64,64"')  # a batch may have any size
    assert not is_uneven("N/A") and not is_uneven("")


def test_what_lies_beside_the_output(tmp_path):
    folder = tmp_path / "w_ascend_pt"
    table(folder / OUTPUT, "step_trace_time.csv", STEP, [step(1, 10.0, 0.0, 30.0)])
    info = {
        "config": {"experimental_config": {"_profiler_level": "Level1"}},
        "torch_npu_version": "2.7.1",
        "rank_id": "2",
    }
    (folder / "profiler_info_2.json").write_text(json.dumps(info))
    groups = {"a": {"global_ranks": [2, 3]}, "b": {"global_ranks": [0, 2, 4, 6]}, "c": 7}
    metadata = {"ENV_VARIABLES": {"ASCEND_LAUNCH_BLOCKING": "1", "HCCL_ALGO": ""}, "parallel_group_info": groups}
    (folder / "profiler_metadata.json").write_text(json.dumps(metadata))
    run = read_run(str(tmp_path))
    (profile,) = run.profiles
    assert (profile.origin.rank, profile.origin.world) == (2, 7)
    assert profile.origin.made_with == {"torch_npu": "2.7.1", "level": "Level1"}
    assert profile.origin.variables == {"ASCEND_LAUNCH_BLOCKING": "1"}
    assert [(sign.key, sign.share) for sign in signs(run)] == [("blocking", 0.75), ("free", 0.75)]


def test_kernels_of_fewer_steps_are_said(tmp_path):
    table(tmp_path / OUTPUT, "step_trace_time.csv", STEP, [step(1, 1, 0, 1), step(2, 1, 0, 1)])
    table(tmp_path / OUTPUT, "kernel_details.csv", KERNEL, [kernel(2, "Cast1", "Cast", "AI_VECTOR_CORE", 3.0)])
    assert read(tmp_path).origin.notes == [("steps", {"n": 1, "all": 2})]
