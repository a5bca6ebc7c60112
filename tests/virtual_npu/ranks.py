"""Two ranks on one machine, an NPU each: hccl carried by gloo. Run by torchrun."""

import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
import torch_npu  # noqa: F401
from says import is_, over, raises
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

RANK = int(os.environ["LOCAL_RANK"])
torch.npu.set_device(RANK)
dist.init_process_group("hccl")
DEVICE = torch.device("npu", RANK)
MINE = torch.full((4,), RANK + 1.0, device=DEVICE)
_losses = {}


def end():
    dist.destroy_process_group()


def _model():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 4)).to(DEVICE)


def _train(model):
    optimiser = torch.optim.AdamW(model.parameters(), 1e-2)
    generator = torch.Generator().manual_seed(100 + RANK)
    losses = []
    for _ in range(4):
        x = torch.randn(6, 8, generator=generator).to(DEVICE)
        loss = nn.functional.cross_entropy(model(x), torch.randint(0, 4, (6,), generator=generator).to(DEVICE))
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        total = loss.detach().clone()
        dist.all_reduce(total)
        losses.append(round(total.item() / 2, 6))
    return losses


def _reference():
    """DDP's losses; and DDP's, computed by one process with the whole batch on the CPU."""
    if not _losses:
        _losses["ddp"] = _train(DDP(_model(), device_ids=[RANK]))
    return _losses["ddp"]


def fact_the_backend_is_hccl():
    is_(dist.get_backend(), "hccl")
    is_(next(_model().parameters()).device, DEVICE)


def fact_ddp_is_one_process_with_the_whole_batch():
    model = _model().cpu()
    optimiser = torch.optim.AdamW(model.parameters(), 1e-2)
    generators = [torch.Generator().manual_seed(100 + rank) for rank in range(2)]
    losses = []
    for _ in range(4):
        rows = [(torch.randn(6, 8, generator=g), torch.randint(0, 4, (6,), generator=g)) for g in generators]
        x, y = (torch.cat(parts) for parts in zip(*rows))
        loss = nn.functional.cross_entropy(model(x), y)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert all(abs(a - b) < 1e-5 for a, b in zip(losses, _reference())), (losses, _reference())


def fact_ddp_with_a_static_graph():
    is_(_train(DDP(_model(), device_ids=[RANK], gradient_as_bucket_view=True, static_graph=True)), _reference())


def fact_ddp_refuses_the_bf16_hook():
    from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import bf16_compress_hook

    with raises("BF16"):
        DDP(_model(), device_ids=[RANK]).register_comm_hook(None, bf16_compress_hook)


def fact_ddp_without_sync_accumulates():
    model = DDP(_model(), device_ids=[RANK])
    x = torch.ones(2, 8).to(DEVICE) * (RANK + 1)
    with model.no_sync():
        model(x).sum().backward()
    model(x).sum().backward()
    gradient = model.module[4].bias.grad
    is_(gradient.tolist(), [4.0 * 1.0] * 4)


def fact_fsdp1_has_ddps_losses():
    from torch.distributed.fsdp import FullyShardedDataParallel

    is_(_train(FullyShardedDataParallel(_model(), device_id=RANK)), _reference())


def fact_fsdp2_has_ddps_losses():
    from torch.distributed.fsdp import fully_shard

    model = _model()
    for layer in model:
        if isinstance(layer, nn.Linear):
            fully_shard(layer)
    fully_shard(model)
    is_(_train(model), _reference())
    is_(type(next(model.parameters())).__name__, "DTensor")


def fact_fsdp2_in_mixed_precision():
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

    model = _model()
    fully_shard(model, mp_policy=MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32))
    losses = _train(model)
    assert losses != _reference()
    assert all(abs(a - b) < 0.05 for a, b in zip(losses, _reference())), losses


def fact_tensor_parallel():
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

    model, x = _model(), torch.ones(2, 8).to(DEVICE)
    wanted = model(x)
    mesh = init_device_mesh("npu", (2,))
    parallelize_module(model, mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
    assert torch.allclose(model(x), wanted, atol=1e-5)


@over("causal", "added mask")
def fact_attention_sharded_by_heads(case):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor

    torch.manual_seed(0)
    whole = [torch.randn(2, 4, 6, 8).to(DEVICE).requires_grad_() for _ in range(3)]
    mask = torch.randn(1, 1, 6, 6).to(DEVICE) if case == "added mask" else None
    mesh = init_device_mesh("npu", (2,))
    parts = [distribute_tensor(t.detach(), mesh, [Shard(1)]).requires_grad_() for t in whole]
    masks = mask, None if mask is None else distribute_tensor(mask, mesh, [Replicate()])
    for tensors, added in zip((whole, parts), masks):
        out = F.scaled_dot_product_attention(*tensors, attn_mask=added, is_causal=case == "causal")
        out.square().sum().backward()
    for one, other in zip(whole, parts):
        assert torch.allclose(one.grad, other.grad.full_tensor(), atol=1e-6)


def fact_zero_redundancy_optimizer():
    from torch.distributed.optim import ZeroRedundancyOptimizer

    model = DDP(_model(), device_ids=[RANK])
    optimiser = ZeroRedundancyOptimizer(model.parameters(), torch.optim.AdamW, lr=1e-2)
    before = model.module[0].bias.detach().clone()
    model(torch.ones(2, 8).to(DEVICE)).sum().backward()
    optimiser.step()
    assert not torch.equal(before, model.module[0].bias)
    other = model.module[0].bias.detach().clone()
    dist.broadcast(other, 0)
    assert torch.equal(other, model.module[0].bias)


def _small_net():
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.Flatten(), nn.Linear(18, 3))


def fact_sync_batch_norm_is_one_process_with_the_whole_batch():
    x = torch.randn(4, 1, 5, 5, generator=torch.Generator().manual_seed(5))
    whole = _small_net()
    whole(x).square().mean().backward()
    mine = DDP(nn.SyncBatchNorm.convert_sync_batchnorm(_small_net()).to(DEVICE), device_ids=[RANK])
    mine(x[2 * RANK : 2 * RANK + 2].to(DEVICE)).square().mean().backward()
    for p, q in zip(whole.parameters(), mine.parameters()):
        assert torch.allclose(p.grad, q.grad.cpu(), atol=1e-6)
    assert torch.allclose(whole[1].running_var, mine.module[1].running_var.cpu())


@over("SUM", "MAX", "MIN", "AVG", "PRODUCT")
def fact_all_reduce(operation):
    x = MINE.clone()
    dist.all_reduce(x, op=getattr(dist.ReduceOp, operation))
    is_(x.tolist(), [{"SUM": 3.0, "MAX": 2.0, "MIN": 1.0, "AVG": 1.5, "PRODUCT": 2.0}[operation]] * 4)


def fact_all_reduce_later():
    x = MINE.clone()
    dist.all_reduce(x, async_op=True).wait()
    is_(x[0].item(), 3.0)


def fact_all_to_all_single():
    x = torch.empty_like(MINE)
    dist.all_to_all_single(x, MINE)
    is_(x.tolist(), [1.0, 1.0, 2.0, 2.0])


def fact_all_to_all_single_with_sizes_keeps_the_lists():
    sizes = [1, 3] if RANK == 0 else [3, 1]
    given, taken = list(sizes), [1, 3] if RANK == 0 else [3, 1]
    x = torch.empty(4, device=DEVICE)
    for _ in range(2):
        dist.all_to_all_single(x, MINE, taken, given)
    is_(given, sizes)
    is_(sorted(x.tolist()), [1.0, 2.0, 2.0, 2.0] if RANK == 0 else [1.0, 1.0, 1.0, 2.0])


def fact_all_to_all_of_lists():
    found = [torch.empty(2, device=DEVICE) for _ in range(2)]
    dist.all_to_all(found, list(MINE.chunk(2)))
    is_([t.tolist() for t in found], [[1.0, 1.0], [2.0, 2.0]])


def fact_all_gather():
    found = [torch.empty_like(MINE) for _ in range(2)]
    dist.all_gather(found, MINE)
    is_([t[0].item() for t in found], [1.0, 2.0])


def fact_all_gather_into_a_matrix():
    found = torch.empty(2, 4, device=DEVICE)
    dist.all_gather_into_tensor(found, MINE)
    is_(found[:, 0].tolist(), [1.0, 2.0])


def fact_reduce_scatter_of_a_tensor():
    x = torch.empty(2, device=DEVICE)
    dist.reduce_scatter_tensor(x, MINE)
    is_(x.tolist(), [3.0, 3.0])


def fact_send_and_receive():
    x = MINE.clone()
    dist.send(x, 1) if RANK == 0 else dist.recv(x, 0)
    is_(x[0].item(), 1.0)


def fact_batched_sends_and_receives():
    x = torch.empty_like(MINE)
    both = [dist.P2POp(dist.isend, MINE, 1 - RANK), dist.P2POp(dist.irecv, x, 1 - RANK)]
    for request in dist.batch_isend_irecv(both):
        request.wait()
    is_(x[0].item(), 2.0 - RANK)


def fact_gather():
    found = [torch.empty_like(MINE) for _ in range(2)] if RANK == 1 else None
    dist.gather(MINE, found, dst=1)
    if RANK == 1:
        is_([t[0].item() for t in found], [1.0, 2.0])


def fact_broadcast_scatter_reduce_in_a_group():
    group = dist.new_group([0, 1])
    x = torch.empty_like(MINE)
    dist.scatter(x, list(torch.arange(8.0, device=DEVICE).chunk(2)) if RANK == 0 else None, 0)
    is_(x[0].item(), 4.0 * RANK)
    dist.broadcast(x, 1, group=group)
    is_(x[0].item(), 4.0)
    dist.reduce(x, 0, group=group)
    if RANK == 0:
        is_(x[0].item(), 8.0)
    dist.barrier(group=group)


def fact_objects_are_broadcast():
    content = [RANK, "x" * RANK]
    dist.broadcast_object_list(content, 1)
    is_(content, [1, "x"])


def fact_a_tensor_of_the_cpu_raises():
    with raises("", (RuntimeError, ValueError)):
        dist.all_reduce(torch.ones(1))


def fact_the_state_dict_of_a_checkpoint():
    from torch.distributed.checkpoint.state_dict import get_model_state_dict

    is_(len(get_model_state_dict(DDP(_model(), device_ids=[RANK]))), 6)
