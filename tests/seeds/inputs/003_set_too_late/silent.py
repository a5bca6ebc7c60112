import os

os.environ["TASK_QUEUE_ENABLE"] = "2"
os.environ["HCCL_BUFFSIZE"] = "120"

import torch
import torch_npu
import torch.distributed as dist


# HCCL reads its variables when the group is made
def main():
    torch.npu.set_device(0)
    os.environ["HCCL_CONNECT_TIMEOUT"] = "1200"
    dist.init_process_group("hccl")
