"""FSDP2: fully_shard with a mixed precision policy over a device mesh, gradients clipped over the shards."""

import os

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

from model import Decoder, ModelArgs


def init_distributed():
    rank, local_rank = int(os.environ["RANK"]), int(os.environ["LOCAL_RANK"])
    device = torch.device(f"cuda:{local_rank}")
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    return rank, device


def shard(model, mesh):
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for layer in model.layers:
        fully_shard(layer, mesh=mesh, mp_policy=policy)
    return fully_shard(model, mesh=mesh, mp_policy=policy)


def main():
    rank, device = init_distributed()
    mesh = init_device_mesh("cuda", (dist.get_world_size(),), mesh_dim_names=("dp",))
    torch.manual_seed(42)
    with torch.device("meta"):
        model = Decoder(ModelArgs())
    shard(model, mesh)
    model.to_empty(device="cuda")
    torch.cuda.manual_seed(42)
    model.init_weights()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, foreach=True)

    generator = torch.Generator().manual_seed(1000 + rank)
    for step in range(5):
        tokens = torch.randint(0, 64, (2, 17), generator=generator).to(device)
        loss = model(tokens[:, :-1], tokens[:, 1:])
        loss.backward()
        total_norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        dist.all_reduce(loss.detach(), op=dist.ReduceOp.AVG)
        if rank == 0:
            print(f"step {step} loss {loss.item():.5f} grad norm {total_norm.full_tensor().item():.5f}"
                  f" allocated {torch.cuda.memory_allocated()}")
        else:
            total_norm.full_tensor()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
