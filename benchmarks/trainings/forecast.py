"""A GRU that goes on with a series of numbers."""

import argparse

import torch
from torch import nn, optim
from torch.utils.data import DataLoader, Dataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=1)
args = parser.parse_args()
torch.manual_seed(args.seed)
device = torch.device("cuda:0") if torch.cuda.is_available() else torch.device("cpu")


class Waves(Dataset):
    def __len__(self):
        return 640

    def __getitem__(self, index):
        times = torch.arange(33) * 0.2 + index * 0.37
        wave = torch.sin(times) + 0.3 * torch.sin(times * (1 + index % 7))
        return wave[:32, None], wave[1:, None]


class Forecaster(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(1, 32, num_layers=2, batch_first=True)
        self.drop = nn.Dropout(0.0)
        self.out = nn.Linear(32, 1)

    def forward(self, x):
        hidden, _ = self.gru(x)
        return self.out(self.drop(hidden))


loader = DataLoader(Waves(), batch_size=16, shuffle=True, generator=torch.Generator().manual_seed(args.seed))
net = Forecaster().to(device)
optimizer = optim.RAdam(net.parameters(), lr=4e-3, betas=(0.9, 0.999), weight_decay=1e-4)
scheduler = optim.lr_scheduler.StepLR(optimizer, step_size=12, gamma=0.5)
for past, future in loader:
    past, future = past.to(device), future.to(device)
    with torch.autocast(device.type, dtype=torch.bfloat16, enabled=False):
        predicted = net(past)
    loss = nn.functional.smooth_l1_loss(predicted.float(), future)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), max_norm=0.15)
    optimizer.step()
    scheduler.step()
    print("loss", loss.item())
