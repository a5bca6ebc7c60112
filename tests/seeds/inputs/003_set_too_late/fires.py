import os

import torch
import torch_npu
import torch.distributed as dist


def main():
    torch.npu.set_device(0)
    os.environ["TASK_QUEUE_ENABLE"] = "2"  # expect: PRT214
    dist.init_process_group("hccl")
    dist.barrier()
    os.environ["HCCL_BUFFSIZE"] = "120"  # expect: PRT214
