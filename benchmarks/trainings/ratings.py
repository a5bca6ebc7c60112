"""A recommender: what a person gives a thing, from embeddings of both and a net."""

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=1)
args = parser.parse_args()
torch.manual_seed(args.seed)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

draw = torch.Generator().manual_seed(3)
people, things = torch.randint(60, (1200,), generator=draw), torch.randint(90, (1200,), generator=draw)
taste, kind = torch.randn(60, 4, generator=draw), torch.randn(90, 4, generator=draw)
given = (taste[people] * kind[things]).sum(1).clamp(-3, 3)


class Recommender(nn.Module):
    def __init__(self):
        super().__init__()
        self.people = nn.Embedding(60, 16)
        self.things = nn.Embedding(90, 16)
        self.net = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Dropout(0.0), nn.Linear(32, 1))

    def forward(self, person, thing):
        a, b = self.people(person), self.things(thing)
        return (a * b).sum(1) + self.net(torch.cat([a, b], 1)).squeeze(1)


dataset = TensorDataset(people, things, given)
loader = DataLoader(dataset, batch_size=30, shuffle=True, generator=torch.Generator().manual_seed(args.seed))
model = Recommender().to(device)
criterion = nn.MSELoss().to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3, betas=(0.9, 0.999), weight_decay=1e-3)
scheduler = torch.optim.lr_scheduler.PolynomialLR(optimizer, total_iters=40, power=1.0)
for person, thing, rating in loader:
    person, thing, rating = person.to(device), thing.to(device), rating.to(device)
    with torch.autocast(device.type, dtype=torch.bfloat16, enabled=False):
        predicted = model(person, thing)
    loss = criterion(predicted.float(), rating)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 0.5)
    optimizer.step()
    scheduler.step()
    print(f"loss: {loss.item():.5f}")
