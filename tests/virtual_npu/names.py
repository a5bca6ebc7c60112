"""Names that ported programs use and that are neither tensors nor collectives: what works, and what fails loudly."""

import copy
import multiprocessing
import os
import tempfile

import torch
import torch.nn.functional as F
import torch_npu
from says import agree, is_, over, raises
from torch import nn

BY_NAME = {
    "set_compile_mode": lambda: torch.npu.set_compile_mode(jit_compile=False),
    "allow_internal_format": lambda: setattr(torch.npu.config, "allow_internal_format", False),
    "set_option": lambda: torch.npu.set_option({"ACL_PRECISION_MODE": "allow_fp32_to_fp16"}),
    "set_per_process_memory_fraction": lambda: torch.npu.set_per_process_memory_fraction(0.9),
    "memory_summary": lambda: torch.npu.memory_summary(),
    "memory_snapshot": lambda: torch.npu.memory_snapshot(),
    "reset_peak_memory_stats": lambda: torch.npu.reset_peak_memory_stats(),
    "empty_cache": lambda: torch.npu.empty_cache(),
    "synchronize": lambda: torch.npu.synchronize(),
    "utilization": lambda: torch.npu.utilization(),
    "mstx": lambda: torch.npu.mstx.mark("x"),
    "deterministic": lambda: (torch.use_deterministic_algorithms(True), torch.use_deterministic_algorithms(False)),
    "get_arch_list": lambda: torch_npu._C._npu_get_soc_version(),
}


@over(
    "set_compile_mode", "allow_internal_format", "set_option", "set_per_process_memory_fraction", "memory_summary",
    "memory_snapshot", "reset_peak_memory_stats", "empty_cache", "synchronize", "utilization", "mstx", "deterministic",
    "get_arch_list",
)  # fmt: skip
def fact_it_can_be_called(name):
    BY_NAME[name]()


def fact_what_the_device_says_of_itself():
    is_(torch.npu.get_device_name(0), "Ascend910B3")
    is_(torch.npu.get_device_properties(0).total_memory, 64 << 30)
    is_(torch.npu.is_bf16_supported(), True)
    is_(torch.npu.device_count(), 2)
    free, total = torch.npu.mem_get_info()
    assert 0 < free < total == 64 << 30


def fact_precision_switches_keep_what_they_are_set_to():
    torch.npu.conv.allow_hf32 = False
    torch.npu.matmul.allow_hf32 = True
    is_((torch.npu.conv.allow_hf32, torch.npu.matmul.allow_hf32), (False, True))


def fact_streams_and_events():
    stream = torch.npu.Stream(priority=-1)
    with torch.npu.stream(stream):
        x = torch.ones(2).npu()
    is_(torch.npu.current_stream() == stream, False)
    torch.npu.current_stream().wait_stream(stream)
    assert stream.query()
    is_(x.tolist(), [1.0, 1.0])


def fact_events_measure_time():
    start, end = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
    start.record()
    for _ in range(10):
        torch.ones(1000).npu().sum()
    end.record()
    torch.npu.synchronize()
    assert start.elapsed_time(end) > 0


def fact_the_profiler_of_torch_npu_does_not_end_the_program():
    activities = [torch_npu.profiler.ProfilerActivity.CPU, torch_npu.profiler.ProfilerActivity.NPU]
    with tempfile.TemporaryDirectory() as folder:
        handler = torch_npu.profiler.tensorboard_trace_handler(folder)
        with torch_npu.profiler.profile(activities=activities, on_trace_ready=handler) as profiler:
            torch.ones(4).npu().sum()
            profiler.step()
        is_(len(os.listdir(folder)), 1)


def fact_the_profiler_of_torch_sees_the_operators():
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profiler:
        torch.ones(2).npu().sum()
    assert "aten::sum" in {event.key for event in profiler.key_averages()}


def _use_in_child(queue):
    try:
        torch.ones(2).npu()
        queue.put("no error")
    except Exception as error:
        queue.put(str(error))


def fact_a_forked_child_is_refused():
    torch.ones(1).npu()
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_use_in_child, args=(queue,))
    child.start()
    said = queue.get(timeout=30)
    child.join()
    assert "Cannot re-initialize NPU in forked subprocess" in said, said


class _Rows(torch.utils.data.Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, index):
        return torch.full((2,), float(index))


@over("fork", "spawn")
def fact_workers_load_and_pin(method):
    loader = torch.utils.data.DataLoader(
        _Rows(), 4, num_workers=1, pin_memory=True, persistent_workers=True, multiprocessing_context=method
    )
    for _ in range(2):
        found = [batch.npu(non_blocking=True).sum().item() for batch in loader if batch.is_pinned()]
        is_(found, [12.0, 44.0])


def fact_the_device_can_be_the_default():
    torch.set_default_device("npu")
    try:
        is_(torch.ones(2).device, torch.device("npu", 0))
    finally:
        torch.set_default_device("cpu")
    with torch.device("npu"):
        is_(torch.ones(2).device, torch.device("npu", 0))


def fact_it_is_the_accelerator():
    is_(torch.accelerator.current_accelerator(), torch.device("npu"))
    is_(torch.accelerator.device_count(), 2)


def fact_set_device_moves_what_is_made():
    torch.npu.set_device(1)
    try:
        is_(torch.ones(2, device="npu").device.index, 1)
        is_((torch.ones(2).npu() + 1).device.index, 1)
    finally:
        torch.npu.set_device(0)


@over("jit.trace", "jit.script", "export")
def fact_programs_are_captured_by(name):
    model, x = nn.Linear(2, 2).npu(), torch.ones(1, 2).npu()
    captured = {
        "jit.trace": lambda: torch.jit.trace(model, x),
        "jit.script": lambda: torch.jit.script(model),
        "export": lambda: torch.export.export(model, (x,)).module(),
    }[name]()
    assert torch.equal(captured(x), model(x))


@over("Conv1d", "Conv2d", "Conv3d", "ConvTranspose2d")
def fact_a_traced_convolution_computes_what_it_does_on_the_cpu(name):
    size = int(name[-2])
    torch.manual_seed(0)
    model, x = nn.Sequential(getattr(nn, name)(2, 4, 3), nn.ReLU()), torch.randn(2, 2, *[5] * size)
    found = []
    for device in ("cpu", "npu"):
        traced = torch.jit.trace(copy.deepcopy(model).to(device), x.to(device))
        assert "aten::_convolution" in str(traced.inlined_graph)
        traced(x.to(device) + 1).sum().backward()
        found.append([traced(x.to(device) - 1), *(p.grad for p in traced.parameters())])
    for on_cpu, on_npu in zip(*found):
        assert torch.equal(on_cpu, on_npu.cpu())


@over("plain", "boolean mask", "added mask", "other sizes")
def fact_compiled_attention_has_the_bits_of_the_cpu(case):
    torch._dynamo.reset()
    torch.manual_seed(0)
    x = torch.randn(2, 4, 6, 8)
    mask = {"boolean mask": torch.rand(6, 6) > 0.3, "added mask": torch.randn(6, 6)}.get(case)

    @torch.compile(backend="aot_eager", fullgraph=True, dynamic=case == "other sizes")
    def attention(x):
        return F.scaled_dot_product_attention(2 * x, x, x, None if mask is None else mask.to(x.device))

    for given in (x, x[:1, :, :4]) if case == "other sizes" else (x,):
        agree(attention, attention, given, tolerance=0)


def fact_nested_tensors():
    nested = torch.nested.nested_tensor([torch.ones(2).npu(), torch.ones(3).npu()], layout=torch.jagged)
    is_([t.sum().item() for t in nested.unbind()], [2.0, 3.0])


def fact_flex_attention_without_a_compiler():
    x = torch.ones(1, 1, 16, 16).npu()
    assert torch.allclose(torch.nn.attention.flex_attention.flex_attention(x, x, x), x)


# ---- what the virtual NPU does not have: each raises where it is asked for
def fact_graphs_raise():
    graph = torch.npu.NPUGraph()
    with raises("aclrtSetStreamAttribute"), torch.npu.graph(graph):
        torch.ones(2).npu()


def fact_sharing_between_processes_raises():
    with raises("aclrtIpcMemGetExportKey", RuntimeError):
        torch.multiprocessing.reductions.reduce_tensor(torch.ones(2).npu())


def fact_data_parallel_raises():
    with raises("HcclCommInitAll", RuntimeError):
        nn.DataParallel(nn.Linear(4, 4).npu(), device_ids=[0, 1])(torch.ones(4, 4).npu())
