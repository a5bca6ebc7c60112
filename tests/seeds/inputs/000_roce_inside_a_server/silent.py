import os

import torch
import torch.distributed as dist


def init(local_rank):
    # HCCL_INTRA_ROCE_ENABLE stays unset
    os.environ.setdefault("HCCL_CONNECT_TIMEOUT", "1200")
    torch.npu.set_device(local_rank)
    dist.init_process_group("hccl")
