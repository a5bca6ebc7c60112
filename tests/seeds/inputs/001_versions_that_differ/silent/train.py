import torch
import torch_npu

model = torch.nn.Linear(4, 4).npu()
