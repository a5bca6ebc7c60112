"""A graph net: sums over neighbours by index_add, a whole graph in each step, other nodes in the loss."""

import argparse

import torch
import torch.nn.functional as F
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=1)
args = parser.parse_args()
torch.manual_seed(args.seed)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

draw = torch.Generator().manual_seed(3)
group = torch.randint(4, (300,), generator=draw)
one, other = torch.randint(300, (4000,), generator=draw), torch.randint(300, (4000,), generator=draw)
linked = (group[one] == group[other]) | (torch.rand(4000, generator=draw) < 0.1)
edges = torch.stack([one[linked], other[linked]]).to(device)
features = torch.randn(300, 16, generator=draw).to(device)
order = torch.Generator().manual_seed(args.seed)


class Layer(nn.Module):
    def __init__(self, inside, outside):
        super().__init__()
        self.own, self.near = nn.Linear(inside, outside), nn.Linear(inside, outside, bias=False)

    def forward(self, x, edges):
        summed = torch.zeros_like(x).index_add_(0, edges[0], x[edges[1]])
        return self.own(x) + self.near(summed / 8)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = Layer(16, 32), Layer(32, 4)
        self.dropout = nn.Dropout(0.0)

    def forward(self, x, edges):
        return self.second(self.dropout(F.elu(self.first(x, edges))), edges)


model = Net().to(device)
optimizer = torch.optim.Adamax(model.parameters(), lr=5e-3, betas=(0.9, 0.999), weight_decay=5e-4)
scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[8, 25], gamma=0.3)
for step in range(40):
    nodes = torch.randperm(300, generator=order)[:60]
    batch, labels = nodes.to(device), group[nodes].to(device)
    optimizer.zero_grad()
    with torch.autocast(device.type, dtype=torch.bfloat16, enabled=False):
        outputs = model(features, edges)
    loss = F.cross_entropy(outputs.float()[batch], labels)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 0.3)
    optimizer.step()
    scheduler.step()
    print(f"Epoch {step}, loss {loss.item():.6f}")
