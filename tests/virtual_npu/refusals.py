"""What raises on a real NPU raises here, in torch's and torch_npu's own words where they are theirs."""

import torch
import torch.nn.functional as F
import torch_npu
from says import is_, over, raises
from torch import nn

IMAGE = torch.randn(4, 3, 8, 8).npu()
NO_CUDA = "Torch not compiled with CUDA enabled"
ONE_DEVICE = "Expected all tensors to be on the same device"


@over("torch.ones(2).cuda()", "torch.ones(2).to('cuda')", "torch.ones(2, device='cuda')", "torch.ones(2).to('cuda:0')")
def fact_left_over_cuda_raises(expression):
    with raises(NO_CUDA, AssertionError):
        eval(expression)


def fact_nccl_raises():
    store = torch.distributed.HashStore()
    with raises("Distributed package doesn't have NCCL built in"):
        torch.distributed.init_process_group("nccl", store=store, rank=0, world_size=1)


@over("add", "linear", "two npus", "index_select", "stack", "where", "npu_rms_norm")
def fact_mixed_devices_raise(case):
    cpu, npu = torch.ones(2, 2), torch.ones(2, 2).npu()
    calls = {
        "add": lambda: npu + cpu,
        "linear": lambda: nn.Linear(2, 2).npu()(cpu),
        "two npus": lambda: npu + torch.ones(2, 2, device="npu:1"),
        "index_select": lambda: npu.index_select(0, torch.tensor([0, 1])),
        "stack": lambda: torch.stack([npu, cpu]),
        "where": lambda: torch.where(npu > 0, npu, cpu),
        "npu_rms_norm": lambda: torch_npu.npu_rms_norm(npu, torch.ones(2)),
    }
    with raises(ONE_DEVICE, RuntimeError):
        calls[case]()


def fact_a_number_of_the_cpu_may_be_mixed_in():
    is_((torch.ones(2).npu() + torch.tensor(1.0)).tolist(), [2.0, 2.0])


def fact_an_index_of_the_cpu_may_be_mixed_in():
    is_(torch.arange(3).npu()[torch.tensor([2, 0])].tolist(), [2, 0])


def fact_numpy_of_an_npu_tensor_raises():
    with raises("can't convert npu:0 device type tensor to numpy", TypeError):
        torch.ones(2).npu().numpy()


@over("to", "contiguous", "module")
def fact_channels_last_raises(case):
    last = torch.channels_last
    calls = {
        "to": (lambda: IMAGE.to(memory_format=last), "Only contiguous_format or preserve_format is supported"),
        "contiguous": (
            lambda: IMAGE.contiguous(memory_format=last),
            "NPU contiguous operator only supported contiguous",
        ),
        "module": (lambda: nn.Conv2d(3, 4, 3).npu().to(memory_format=last), "Only contiguous_format"),
    }
    with raises(calls[case][1], RuntimeError):
        calls[case][0]()


@over("clone", "empty_like", "ones_like")
def fact_channels_last_is_dropped_in_silence(case):
    """What torch_npu does with the format where it does not refuse it."""
    calls = {
        "clone": lambda: IMAGE.clone(memory_format=torch.channels_last),
        "empty_like": lambda: torch.empty_like(IMAGE, memory_format=torch.channels_last),
        "ones_like": lambda: torch.ones_like(IMAGE, memory_format=torch.channels_last),
    }
    assert calls[case]().is_contiguous()


def fact_the_device_has_no_capability():
    is_(torch.npu.get_device_capability(), None)


def fact_get_device_name_takes_no_keyword():
    with raises("unexpected keyword argument 'device'", TypeError):
        torch.npu.get_device_name(device=0)


def fact_a_double_tensor_moves_as_it_is():
    is_(torch.ones(2).double().npu().dtype, torch.float64)


def fact_to_double_on_the_device_becomes_float():
    is_(torch.ones(2).npu().to(torch.float64).dtype, torch.float32)
    is_(torch.ones(2).npu().double().dtype, torch.float32)


def fact_a_generator_of_the_cpu_raises():
    with raises("Expected a 'npu' device type for generator but found 'cpu'", RuntimeError):
        torch.rand(2, device="npu", generator=torch.Generator())


def fact_inductor_raises():
    with raises("Device npu not supported"):
        torch.compile(lambda x: x + 1)(torch.ones(2).npu())


@over("eager", "aot_eager")
def fact_other_compilers_run(backend):
    is_(torch.compile(lambda x: x + 1, backend=backend)(torch.ones(2).npu()).tolist(), [2.0, 2.0])


def fact_an_operator_without_reference_raises():
    with raises("not in libopapi.so", RuntimeError):
        torch_npu.npu_moe_gating_top_k_softmax(torch.ones(4, 4).npu())


def fact_a_name_that_does_not_exist_raises():
    with raises("has no attribute 'npu_flash_attention'", AttributeError):
        torch_npu.npu_flash_attention  # noqa: B018


def fact_sparse_tensors_raise():
    with raises("", (RuntimeError, NotImplementedError)):
        torch.eye(3).npu().to_sparse() @ torch.eye(3).npu()


# ---- autocast: torch_npu's own lists
@over("mm", "linear", "conv2d")
def fact_autocast_lowers(name):
    a = torch.randn(1, 4, 4).npu()
    with torch.autocast("npu", dtype=torch.float16):
        result = {
            "mm": lambda: a[0] @ a[0],
            "linear": lambda: nn.Linear(4, 4).npu()(a),
            "conv2d": lambda: nn.Conv2d(1, 1, 3).npu()(a),
        }[name]()
    is_(result.dtype, torch.float16)


@over("softmax", "layer_norm", "cross_entropy", "sum")
def fact_autocast_raises_the_precision_of(name):
    a = torch.randn(4, 4).npu()
    with torch.autocast("npu", dtype=torch.float16):
        product = a @ a
        result = {
            "softmax": lambda: F.softmax(product, -1),
            "layer_norm": lambda: F.layer_norm(product, (4,)),
            "cross_entropy": lambda: F.cross_entropy(product, torch.tensor([0, 1, 2, 3]).npu()),
            "sum": lambda: product.sum(),
        }[name]()
    is_(result.dtype, torch.float32)


def fact_autocast_bans_binary_cross_entropy():
    a = torch.rand(4).npu()
    with torch.autocast("npu", dtype=torch.float16), raises("unsafe to autocast", RuntimeError):
        F.binary_cross_entropy(a, a)


def fact_autocast_of_attention():
    with torch.autocast("npu", dtype=torch.float16):
        is_(F.scaled_dot_product_attention(*[torch.randn(1, 2, 4, 8).npu()] * 3).dtype, torch.float16)


def fact_autocast_as_a_decorator():
    product = torch.npu.amp.autocast()(lambda: (torch.ones(2, 2).npu() @ torch.ones(2, 2).npu()).dtype)
    is_(product(), torch.float16)


# last: with it the device is left as it was found
def fact_a_device_that_does_not_exist_raises():
    with raises("", RuntimeError):
        torch.ones(2, device="npu:7")
    is_(torch.ones(2).npu().sum().item(), 2.0)
    is_(torch.npu.current_device(), 0)


@over("torch.spmm", "torch.sparse.mm", "@", "softmax")
def fact_products_of_sparse_tensors_raise(name):
    x = torch.sparse_coo_tensor(torch.tensor([[0, 1, 1], [2, 0, 2]]), torch.ones(3), (2, 3)).npu()
    calls = {
        "torch.spmm": torch.spmm, "torch.sparse.mm": torch.sparse.mm, "@": lambda x, y: x @ y,
        "softmax": lambda x, y: torch.sparse.softmax(x, 1),
    }  # fmt: skip
    with raises("is not currently supported on the NPU backend", RuntimeError):
        calls[name](x, torch.ones(3, 2).npu())
