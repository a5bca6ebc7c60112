import torch

net = torch.nn.Linear(8, 2).npu()
torch.save(net.state_dict(), "net.pth")
