import os

import torch
import torch.distributed as dist

os.environ["HCCL_RDMA_TC"] = "132"
os.environ["HCCL_RDMA_SL"] = "8"  # expect: advice rdma-class-refused


def setup(rank, world):
    torch.npu.set_device(rank)
    dist.init_process_group("hccl", rank=rank, world_size=world)
